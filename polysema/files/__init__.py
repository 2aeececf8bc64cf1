"""What every room writes to disk with: whole files and folders, their configuration."""

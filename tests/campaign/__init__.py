"""A campaign against polysema: hostile command lines, damaged files, signals, full disks, races, bombs, degenerate text.

Every try is a small JSON table, drawn from a seed or saved; it runs in a sandbox and comes back as a list of faults:

=================  =====================================================================================================
``world``          the small inputs of every kind, and a sandbox that holds a copy of them
``serve``          the process that forks one command after the other, and watches time and memory
``moments``        when a signal strikes: before the n-th change to a file, at the n-th passage of a line, after a while
``checks``         what is a fault: exit codes, tracebacks, hangs, memory, leftovers, changed input
``commands``       command lines from the real tables of options
``damage``         files of every format, damaged
``signals``        SIGKILL, SIGINT, SIGTERM in every long command; then the same command again, to the same bits
``disks``          full and read-only disks; two commands that write to one name
``degenerate``     text that is hardly text
``results``        what was tried so far, kept between the parts of a long campaign
``cases``          finds of earlier campaigns by name: run first
=================  =====================================================================================================

The suite runs it with one seed for at most two minutes; ``python -m tests.campaign --seed 7 --minutes 60 --table`` goes
on for an hour with another. What it finds prints as one command that makes it again; saved in ``cases/found.json`` it is
a case from then on.
"""

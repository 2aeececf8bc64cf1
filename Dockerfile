# The explorer in public. Builds without a network from the wheels beside it:
#
#   pip wheel '.[explore,parse]' --wheel-dir wheels
#   docker build --network none --tag polysema .
#   docker run --read-only --tmpfs /tmp --memory 4g --publish 127.0.0.1:8765:8765 polysema --allow-host words.example.org
FROM python:3.12-slim AS build
COPY wheels /wheels
RUN python -m venv /polysema \
 && /polysema/bin/pip install --no-index --find-links /wheels --no-cache-dir 'polysema[explore,parse]'

FROM python:3.12-slim
COPY --from=build /polysema /polysema
USER 10001:10001
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
EXPOSE 8765
HEALTHCHECK --start-period=60s CMD ["/polysema/bin/python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8765/health')"]
ENTRYPOINT ["/polysema/bin/polysema", "explore", "--public", "--host", "0.0.0.0"]
CMD ["--allow-host", "localhost"]

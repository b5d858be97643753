# The service in a container: no rows, no keys and no ledger are in the image; mount them at /project.
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 discreet
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[service,postgres]" && rm -rf /build

# By number, so that whoever runs it can see that it is not root.
USER 10001
WORKDIR /project
EXPOSE 8417
# What the compiler makes of questions is kept while the container lives; nothing else is written outside /project.
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8417/v1/health', timeout=4)"]
CMD ["discreet", "serve", "--project", "/project/discreet.toml", "--host", "0.0.0.0", "--workers", "2"]

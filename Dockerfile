# The Zerg bot with its learner, on the proving ground. The run is kept in the volume /run-dir.
#
#   docker build -t understudy .
#   docker run --rm -v understudy:/run-dir understudy
#   docker run --rm -v understudy:/run-dir -p 8642:8642 -e UNDERSTUDY_DASHBOARD_TOKEN=... \
#       understudy understudy dashboard /run-dir --dashboard.host 0.0.0.0
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE run_with_training.py ./
COPY src ./src
COPY tools ./tools
RUN pip install -c constraints.txt ".[run]" \
    && useradd --create-home --uid 1000 player \
    && mkdir /run-dir \
    && chown player /run-dir

USER 1000
VOLUME /run-dir
EXPOSE 8642
STOPSIGNAL SIGINT
HEALTHCHECK --interval=60s --start-period=300s CMD ["understudy", "status", "/run-dir"]
CMD ["python", "run_with_training.py", "--run-dir", "/run-dir", "--games", "0"]

# npm comes from the base image; the Node that runs is the one that the lockfile pins.
FROM node:20-bookworm-slim

RUN apt-get update \
  && apt-get install -y --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/platform-node
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --include=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
COPY scripts/run-node scripts/platform-node scripts/
COPY src src
COPY actors actors
COPY machines machines
COPY workers workers

RUN useradd --system --uid 10001 --home-dir /var/lib/platform-node --create-home platform && scripts/run-node --version
USER platform
ENV SYNC_STATE_DIR=/var/lib/platform-node
VOLUME /var/lib/platform-node
# A config.json may be mounted here.
WORKDIR /var/lib/platform-node

EXPOSE 3006
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/opt/platform-node/scripts/run-node", "-e", "\
  const { SYNC_API_PORT: port = '3006', SYNC_API_KEY: key = '' } = process.env; \
  fetch(`http://127.0.0.1:${port}/health`, { headers: { authorization: `Bearer ${key}` } }) \
    .then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/opt/platform-node/scripts/platform-node"]
CMD ["sync"]

# npm comes from the base image; the Node that runs, here and in the result, is the one that the lockfile pins.
FROM node:20-bookworm-slim AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends binutils libatomic1 patchelf \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY package.json package-lock.json ./
RUN npm ci --include=optional --include=dev --ignore-scripts --no-audit --no-fund
COPY . .
# What --version says: --build-arg COMMIT=$(git show -s --format=%h) --build-arg DATE=$(git show -s --format=%cs)
ARG COMMIT
ARG DATE
RUN PLATFORM_COMMIT="$COMMIT" PLATFORM_DATE="$DATE" scripts/build/image.sh /image

FROM scratch
COPY --from=build /image/ /
COPY --from=build --chown=10001:10001 /image/var/lib/platform-node /var/lib/platform-node
USER 10001:10001
ENV SYNC_STATE_DIR=/var/lib/platform-node EXPLORER_STATE_DIR=/var/lib/platform-node STATE_DIR=/var/lib/platform-node
# A container is reached by the ports that are published; on a machine of its own a service without a key is reached from there only.
ENV DECODER_API_HOST=0.0.0.0 INDEXER_API_HOST=0.0.0.0 ENCODER_API_HOST=0.0.0.0 UTXO_TRACKER_API_HOST=0.0.0.0 REGTEST_MINER_API_HOST=0.0.0.0
# Everything else is only read: run it with --read-only. A config.json may be mounted into the first.
VOLUME ["/var/lib/platform-node", "/tmp"]
WORKDIR /var/lib/platform-node

# sync, hub, explorer, tracker, decoder, encoder, indexer, miner
EXPOSE 3006 10000 8080 8081 3001 3002 3003 3004 3005
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/opt/platform-node/platform-node", "status", "--live", "--service", "container"]

# Its guardian is the first process: it restarts the service and forwards signals. Nothing else is started here.
ENTRYPOINT ["/opt/platform-node/platform-node"]
CMD ["sync"]

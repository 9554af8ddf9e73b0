# The container image: docker build --tag svc . (docs/deployment.md explains how to run it).
ARG NODE_IMAGE=docker.io/library/node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY .dev/prepare.mjs .dev/production-lock.mjs .dev/
RUN node .dev/prepare.mjs dev
COPY . .
RUN npm run --silent build && node .dev/image.mjs image

# The system without the package managers of Node, which only an intruder would use. User 1000 owns the data.
FROM ${NODE_IMAGE} AS system
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /usr/local/share/doc /usr/local/share/man /opt/yarn-* \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
    && install -d -o 1000 -g 1000 -m 700 /app/data

# A copy of the system, because the layers of the image above still contain what was removed.
FROM scratch
COPY --from=system / /
WORKDIR /app
COPY --from=build /build/image ./

ARG NODE_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="svc" \
      org.opencontainers.image.description="A standalone identity server" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.vendor="svc" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"

# PORT overrides server.port.
ENV PATH="/app/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" PORT="8000"
EXPOSE 8000
# A number, so that Kubernetes can verify that it is not root.
USER 1000:1000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["healthcheck"]
CMD ["start"]

# One static binary in an empty image, run as nobody.
#
#   docker build -t ssd_exporter .                                      compiled in the image of Go (needs BuildKit, podman or buildah)
#   make image                                                          what `make build` compiled here; pulls nothing
#   docker run -p 10055:10055 -v ssd_exporter:/data ssd_exporter
#
# /data must be a volume, or a folder that user 65534 may write, on the disk to be probed: an image's own layers are no disk.
# Reading S.M.A.R.T. needs --user 0, --cap-add SYS_RAWIO --cap-add SYS_ADMIN and the devices; without them probes go on.
ARG BUILDER=golang:1.26

# What both images have in common. The state folder is data/ in the working directory, so that --state.path can still be given.
FROM scratch AS base
ARG VERSION=unreleased
LABEL org.opencontainers.image.title="ssd_exporter" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /
USER 65534:65534
EXPOSE 10055
ENTRYPOINT ["/ssd_exporter"]

# make image: .ci/image lays out the context and asks for this stage.
FROM base AS host
COPY --chown=0:0 ssd_exporter LICENSE /
COPY --chown=65534:65534 data /data
VOLUME /data

FROM ${BUILDER} AS source
ARG VERSION=unreleased
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/prometheus/common/version.Version=${VERSION}" -o /out/ssd_exporter ./cmd/ssd_exporter \
 && mkdir /out/data \
 && cp LICENSE /out/

FROM base
COPY --from=source --chown=0:0 /out/ssd_exporter /out/LICENSE /
COPY --from=source --chown=65534:65534 /out/data /data
VOLUME /data

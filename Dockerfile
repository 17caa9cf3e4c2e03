# One static binary in an empty image, run as nobody.
#
#   docker build -t ssd_exporter .                                      compiled in the image of Go
#   make image                                                          what `make build` compiled here; pulls nothing
#   docker run -p 10055:10055 -v ssd_exporter:/data ssd_exporter
#
# /data must be a volume, or a folder that user 65534 may write, on the disk to be probed: an image's own layers are no disk.
# Reading S.M.A.R.T. needs --user 0, --cap-add SYS_RAWIO --cap-add SYS_ADMIN and the devices; without them probes go on.
#
# Stages that are not needed are not built: that takes BuildKit (docker since 23.0), podman or buildah.
ARG BUILDER=golang:1.26
# Where the binary comes from: "source" compiles it, "host" takes it from the context, as .ci/image lays it out.
ARG BINARY=source

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

FROM scratch AS host
COPY ssd_exporter LICENSE /out/
COPY data /out/data

FROM ${BINARY} AS binary

FROM scratch
ARG VERSION=unreleased
LABEL org.opencontainers.image.title="ssd_exporter" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=binary /out/ssd_exporter /out/LICENSE /
COPY --from=binary --chown=65534:65534 /out/data /data
USER 65534:65534
VOLUME /data
EXPOSE 10055
# The state folder is data/ in the working directory, so that --state.path can still be given.
WORKDIR /
ENTRYPOINT ["/ssd_exporter"]

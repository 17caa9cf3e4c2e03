# One static binary in an empty image.
#
#   docker build -t ssd_exporter .
#   docker run -p 10055:10055 -v ssd_exporter:/data ssd_exporter
#
# /data must be a volume on the disk to be probed. Reading S.M.A.R.T. needs --user 0, --cap-add SYS_RAWIO --cap-add SYS_ADMIN and the
# devices; without them probes go on.
ARG BUILDER=golang:1.26

FROM ${BUILDER} AS build
ARG VERSION=unreleased
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/prometheus/common/version.Version=${VERSION}" -o /out/ssd_exporter ./cmd/ssd_exporter \
 && mkdir /out/data

FROM scratch
COPY --from=build /out/ssd_exporter /ssd_exporter
COPY --from=build --chown=65534:65534 /out/data /data
USER 65534:65534
VOLUME /data
EXPOSE 10055
ENTRYPOINT ["/ssd_exporter", "--state.path=/data"]

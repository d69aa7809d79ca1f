"""What a run tells of itself to monitoring: Prometheus, OpenTelemetry, and who asks for its health."""

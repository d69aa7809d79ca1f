"""Bytes of a segment, whatever the payload: name, header, sidecar, section, chain, entry, codec, cipher. Pure."""

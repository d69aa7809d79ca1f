"""A writer of commit logs for tests, made from the format page alone: shares no code with the reader.

`model` says what is written (tables, mutations), `mutation` and `schema` turn it into payloads, `frame` and `codecs`
put payloads into segments, `folder` puts segments and sidecars where a reader looks. `tests.helpers.log_writer` has it
all.
"""

"""Where files are kept elsewhere: a folder, or an object store. Bytes and names; knows no log."""

"""The command `cdc-tail`: one file per command, loaded when it is asked for."""

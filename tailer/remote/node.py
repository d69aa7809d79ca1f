"""The log of a node at an address: a link to it, and on that its segments and its state. Where those meet."""

from __future__ import annotations

from tailer.errors import UsageError
from tailer.options.log_place import NodeUrl
from tailer.options.tail import TailOptions
from tailer.remote.absence import Say
from tailer.remote.access import access_of
from tailer.remote.home import RemoteHome
from tailer.remote.link import Link, Stopping
from tailer.remote.plain import PlainHome
from tailer.remote.source import RemoteSource
from tailer.state.node_log import NodeLog


def remote_source(url: NodeUrl, options: TailOptions) -> RemoteSource:
    """The segments that the node serves, to be closed. UsageError; asks nothing."""
    return RemoteSource(Link(url, access_of(options)))


def remote_log(
    url: NodeUrl,
    options: TailOptions,
    patience: float = 0.0,
    say: Say | None = None,
    stopping: Stopping | None = None,
) -> NodeLog:
    """The log that the node serves; its source is to be closed. `patience`, `say`, `stopping`: see `Link`.

    Raises what keeps the node from being asked, UsageError for options that do not go with it.
    """
    link = Link(url, access_of(options), patience, say, stopping)
    try:
        if link.plain:
            return NodeLog(RemoteSource(link), PlainHome(link, options.state))
        if options.state is not None:
            raise UsageError(
                "the state of a node that serves its log stays there",
                file=str(url),
                expected="no --state (stateDir)",
                found=str(options.state),
                remedy="Leave it out.",
            )
    except BaseException:
        link.close()
        raise
    return NodeLog(RemoteSource(link), RemoteHome(link, options.program))

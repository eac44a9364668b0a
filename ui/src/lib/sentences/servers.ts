// The faults of Bitcoin servers and of connections, by their codes.
import type { Catalogue } from "./catalogue";

export const SERVERS = {
  BAD_ADDRESS: (v) =>
    `${v._0} is no address at which Bitcoin Core publishes: set backendZmq to one like tcp://127.0.0.1:28332`,
  BAD_NODE_CERTIFICATES: (v) => `the certificates that this system trusts cannot be read: “${v._0}”`,
  BAD_SERVER_TLS: (v) => `no secure connections can be made: “${v._0}”`,
  BAD_SERVER_URL: (v) =>
    `${v._0} is no address of an Electrum server: set backendUrl to one like ssl://electrum.example:50002`,
  BAD_URL: (v) =>
    `${v._0} is no address of a Bitcoin Core node: set backendUrl to one like http://127.0.0.1:8332`,
  NOT_POSTED_BAD_URL: () => "the URL cannot be used",
  NOT_POSTED_LATE: (v) => `the server did not answer within ${v.seconds} seconds`,
  NOT_POSTED_REDIRECTS: (v) =>
    `the server redirects (${v._0}), and redirects are not followed: set the final URL`,
  NOT_POSTED_STATUS: (v) => `the server answered ${v._0}`,
  TOO_MUCH: (v) => `the server sent more than ${v._0} KiB`,
  ANSWERS: (v) => `the backend answers, its best block is ${v.height}`,
  BAD_COOKIE_EMPTY: (v) => `the cookie file ${v.path} is empty: restart the node, which writes it anew`,
  BAD_COOKIE_NOT_IN_FOLDER: (v) =>
    `the folder ${v.path} holds no cookie file of this network's node: start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead`,
  BAD_COOKIE_NO_COOKIE: (v) =>
    `${v.path} is no cookie file of Bitcoin Core (“${v.why}”): set backendCookieFile to the file .cookie of the node`,
  BAD_COOKIE_UNREADABLE: (v) =>
    `the node's cookie file ${v.path} cannot be read (${v.error}): start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead`,
  CERTIFICATE_FAULT_EXPIRED: () => "has expired",
  CERTIFICATE_FAULT_NOT_VALID_YET: () => "is not valid yet; check this machine's clock",
  CERTIFICATE_FAULT_OTHER_NAME: () => "is for another name",
  CERTIFICATE_FAULT_REVOKED: () => "was revoked by its authority",
  CERTIFICATE_FAULT_SELF_SIGNED: () => "is self-signed, and not by an authority that this machine trusts",
  CERTIFICATE_FAULT_UNKNOWN_ISSUER: () =>
    "was issued by an authority that this machine does not know, or the server leaves out the certificate in between",
  CERTIFICATE_FAULT_UNUSABLE: () => "cannot be used for a server",
  DOWN_BOTH: (v) => `${v.first}; ${v.next}`,
  DOWN_BUILT_IN: () =>
    "the sandbox is built in and asks no server: choose another network first, before there is a wallet",
  DOWN_CATCHING_UP: (v) => `the node is catching up, it has block ${v.blocks} of ${v.headers}`,
  DOWN_CERTIFICATE: (v) =>
    `the certificate of the server at ${v.host} ${v.fault}. If it is your server, and its certificate has the SHA-256 ${v.found}, pin it`,
  DOWN_COOKIE_REFUSED: (v) =>
    `the node at ${v.host} answers, but it refuses the cookie: set backendCookieFile to the file of this node`,
  DOWN_DOWNLOADING: (v) => `the node is downloading the chain, it has block ${v.blocks} of ${v.headers}`,
  DOWN_FORBIDDEN: (v) =>
    `the node at ${v.host} answered 403 Forbidden to ${v.methods}: in its bitcoin.conf, rpcallowip must name this machine's address, and rpcwhitelist, if it is set, every call of the gateway (the page about the network lists them)`,
  DOWN_INSECURE: (v) => `no secure connection to the server at ${v.host}: ${v.fault}`,
  DOWN_LATE: (v) => `the server at ${v.host} did not answer in time`,
  DOWN_LATE_OVER_TLS: (v) =>
    `the server at ${v.host} did not answer in time (if it speaks no TLS at this port, set backendUrl to tcp://${v.host})`,
  DOWN_LESS_WORK: (v) =>
    `the server's best block ${v.height} has less work behind it than the known block ${v.watched}: the server is behind, or lost blocks, and must catch up first`,
  DOWN_LOADING_MEMPOOL: () => "the node is loading its mempool",
  DOWN_MAYBE_TLS: (v) => `${v.why} (if it speaks TLS at this port, set backendUrl to ssl://${v.host})`,
  DOWN_NOT_SET: () =>
    "no server is chosen: set backendUrl to your node's address, like http://127.0.0.1:8332, and backendCookieFile or backendUser for the login",
  DOWN_NO_CORE: (v) => `the server at ${v.host} is no Bitcoin Core: ${v.words}`,
  DOWN_NO_CREDENTIALS: () =>
    "backendUrl is set, but no credentials are: set backendCookieFile to the node's file .cookie, or backendUser and backendPassword",
  DOWN_NO_NODE: (v) =>
    `no connection to the node at ${v.host} (${v.why}): start the node with server=1 in its bitcoin.conf, and on another machine with rpcbind and rpcallowip too, or set backendUrl to where it answers`,
  DOWN_NO_PASSWORD: () => "backendUser is set and its password is not: give it as backendPassword",
  DOWN_NO_SERVER: (v) =>
    `no connection to the server at ${v.host} (“${v.why}”): see that it runs, or set backendUrl to where it answers`,
  DOWN_NO_TLS: (v) =>
    `the server at ${v.host} speaks no TLS at this port: set backendUrl to the port of its TLS, or to tcp://${v.host} on your own machine or network`,
  DOWN_NO_WAY: (v) => `the server at ${v.host} cannot be asked: ${v.why}`,
  DOWN_OF_SERVER: (v) => `${v.name}: ${v.why}`,
  DOWN_OTHER_CERTIFICATE: (v) =>
    `the server at ${v.host} shows a certificate that is not the pinned one, nor of a public authority; somebody may be listening in. If you know that the server's certificate was renewed, pin the new one, ${v.found}`,
  DOWN_OTHER_NETWORK: (v) =>
    `the server is on ${v.found}, and the setting network says ${v.network}: set backendUrl to a server of that network`,
  DOWN_OTHER_SERVERS_NETWORK: (v) =>
    `it is on the network that begins with block ${v.genesis}, and the setting network says ${v.network}: take it out of backendUrl`,
  DOWN_PASSWORD_REFUSED: (v) =>
    `the node at ${v.host} answers, but it refuses user and password: set backendUser and backendPassword right`,
  DOWN_STARTING: (v) => `the node is still starting (${v.words})`,
  FAILURE_CLOSED: () => "the server closed the connection without an answer",
  FAILURE_INSECURE: (v) => `no secure connection to ${v.host}: ${v.fault}`,
  FAILURE_NO_WAY: (v) => `the way to the server is closed: “${v._0}”`,
  FAILURE_OTHER: (v) => `the request failed: “${v._0}”`,
  FAILURE_REFUSED: () => "the server refuses connections",
  FAILURE_SILENT: () => "the server did not answer",
  FAILURE_SPEAKS_TLS: (v) => `the server at ${v._0} speaks TLS at this port: write https:// in its address`,
  FAILURE_TOO_MUCH: (v) => `${v._0} without coming to an answer`,
  FAILURE_UNREACHABLE: () => "the server cannot be reached from here",
  NOT_ACCEPTED: () => "is not accepted",
  NO_NOTICES: (v) =>
    `nothing is heard of the node at ${v.url} (“${v.why}”): see that it runs with -zmqpubsequence set to this address, or unset backendZmq; meanwhile the node is asked each second, so that payments are seen a second later`,
  PRUNED: (v) =>
    `the node has pruned all blocks below ${v.first}, and the wallet began at block ${v.birth}: let it download the chain again (-reindex) and keep blocks longer (-prune), or coins that came between these blocks are not seen`,
  TESTED_FAILED: () => "the test of this server failed: see the log",
  TESTED_LATE: (v) =>
    `the server did not answer within ${v.seconds} s: check that it runs, and that this machine can reach it`,
  TESTED_STALE: (v) =>
    `the backend answers, its best block is ${v.height}, which is ${v.hours} h old: check that the server is connected to other nodes, and that this machine's clock is right`,
  TLS_FAULT_CERTIFICATE: (v) => `its certificate ${v._0}`,
  TLS_FAULT_NOTHING_IN_COMMON: () => "it offers neither TLS 1.2 nor TLS 1.3 with a usable cipher",
  TLS_FAULT_NO_TLS: () => "it speaks no TLS at this port",
  TLS_FAULT_OTHER: (v) => `TLS failed: “${v._0}”`,
} satisfies Partial<Catalogue>;

import { JoinError, plainText } from "../../credentials/join-error.ts";

/** The given address of a hub. */
export interface Endpoint {
  /** `https://host[:port][/prefix]`, without a slash at the end. */
  readonly server: string;
  /** `host:port`, for messages. */
  readonly shown: string;
}

const maxCharacters = 2048;

/**
 * Reads `host:port`, `[IPv6]:port` or an https URL (its port is 443 unless it names one).
 * @throws JoinError bad-endpoint, naming the value and what is allowed
 */
export function parseEndpoint(text: string): Endpoint {
  if (text.length > maxCharacters || !/^[!-~]+$/.test(text))
    throw bad(text, "it is empty, too long or has odd characters");
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? fromUrl(text) : fromHostPort(text);
}

function fromUrl(text: string): Endpoint {
  if (!URL.canParse(text)) throw bad(text, "it is not a URL");
  const url = new URL(text);
  if (url.protocol !== "https:") throw bad(text, "a hub is reached by https only");
  // Neither may appear in a log or reach another server.
  if (url.username !== "" || url.password !== "") {
    throw new JoinError("bad-endpoint", "the endpoint must not contain a user or a password: give host:port");
  }
  if (url.search !== "" || url.hash !== "") throw bad(text, "a query or fragment has no meaning here");
  return endpointOf(url);
}

function fromHostPort(text: string): Endpoint {
  const [, host, port] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || port === undefined) {
    const portless = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)$/.test(text);
    throw bad(text, portless ? `the port is missing, for example ${text}:6443` : "it is no host and port");
  }
  const valid = Number(port) >= 1 && Number(port) <= 65_535 && URL.canParse(`https://${host}:${port}`);
  if (!valid) throw bad(text, "the host or the port is not valid");
  return endpointOf(new URL(`https://${host}:${port}`));
}

function endpointOf(url: URL): Endpoint {
  return {
    server: `${url.origin}${url.pathname.replace(/\/+$/, "")}`,
    shown: `${url.hostname}:${url.port === "" ? 443 : url.port}`,
  };
}

function bad(text: string, why: string): JoinError {
  return new JoinError(
    "bad-endpoint",
    `${JSON.stringify(plainText(text, 200))} is not the address of a hub: ${why}; give HOST:PORT or https://HOST[:PORT]`,
  );
}

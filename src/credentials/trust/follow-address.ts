import type { AgentReport, KeptName } from "../credential-event.ts";
import type { Acceptance } from "../proof/credential-probe.ts";
import { stateFormat, text } from "../storage/state-format.ts";
import type { PublishedHub, Trust, TrustFiles } from "./trust-bundle-manager.ts";

/** The checks of a new address. */
export interface FollowAddressOptions {
  readonly files: TrustFiles;
  readonly name: KeptName;
  readonly report: AgentReport;
  /** The cluster-info at an address, over TLS that is verified by the trusted CAs, or why it cannot be read. */
  readonly published: (trust: Trust) => Promise<PublishedHub | string>;
  /** Whether the hub at an address accepts the credential of this machine. */
  readonly ask: (trust: Trust) => Promise<Acceptance>;
}

/**
 * Adopts a new address from the hub's cluster-info, once cluster-info there is the same and the hub there accepts the credential of this
 * machine; until then the one in use stays. The first known address changes nothing: people chose the address in use. A returned text is
 * the reason why a new one is not adopted; the next check retries. @throws JoinError write-failed
 */
export async function followAddress(
  trust: Trust,
  address: string,
  options: FollowAddressOptions,
): Promise<string | undefined> {
  const { files, name, report } = options;
  if (files.published === undefined) return undefined;
  const before = publishedFormat.parse(await files.text(files.published))?.server;
  if (before === address) return undefined;
  if (before !== undefined && address !== trust.server) {
    const why = await whyNot({ ...trust, server: address }, options);
    if (why !== undefined)
      return `cluster-info names the address ${address} now, but ${why}; ${trust.server} stays in use`;
    const kubeconfig = (await files.text(files.kubeconfig)) ?? "";
    const changed = withServer(kubeconfig, trust.server, address);
    if (changed === undefined) {
      return `cluster-info names the address ${address} now, but ${files.kubeconfig} does not name ${trust.server} once: change its server by hand`;
    }
    await files.write(files.kubeconfig, changed);
    const message = "server address updated from cluster-info";
    report({ ...name, reason: "ServerAddressUpdated", message, details: { server: address } });
  }
  // Last: an agent that is killed before it checks the same address again.
  await files.write(files.published, publishedFormat.print({ server: address }));
  return undefined;
}

/** The text of a kubeconfig with its server replaced, where it occurs once; undefined where it does not. */
export function withServer(kubeconfig: string, before: string, after: string): string | undefined {
  const lines = kubeconfig.split("\n");
  const at = lines.flatMap((line, index) => (/^\s*(- )?server: /.test(line) ? [index] : []));
  const [index = -1] = at;
  const found = /^(\s*(?:- )?server: )(.*?)\s*$/.exec(lines[index] ?? "");
  const [, key = "", value = ""] = found ?? [];
  if (at.length !== 1 || value.replaceAll(/^["']|["']$/g, "") !== before) return undefined;
  return lines.with(index, `${key}${JSON.stringify(after)}`).join("\n");
}

async function whyNot(next: Trust, { published, ask }: FollowAddressOptions): Promise<string | undefined> {
  const there = await published(next);
  if (typeof there === "string") return there;
  if (there.server !== next.server) return `cluster-info there names the address ${there.server}`;
  const acceptance = await ask(next);
  switch (acceptance.kind) {
    case "accepted":
      return undefined;
    case "refused":
      return `the hub there refuses the credential of this machine (${acceptance.message})`;
    case "unknown":
      return acceptance.message;
  }
}

const publishedFormat = stateFormat<{ readonly server: string }, "server">({ server: text }, ["server"]);

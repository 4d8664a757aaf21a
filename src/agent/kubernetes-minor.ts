import type { RemoteClient } from "../client/remote.ts";

/** The 27 of Kubernetes 1.27 that the hub says it is; undefined when it does not say, or is no version 1. @throws ConnectionError */
export async function kubernetesMinor(client: RemoteClient): Promise<number | undefined> {
  const reply = await client.raw("GET", "/version");
  if (reply.status !== 200) return undefined;
  try {
    const version = JSON.parse(reply.body.toString("utf8")) as {
      readonly major?: unknown;
      readonly minor?: unknown;
    } | null;
    // Some vendors write `27+`.
    const minor = version?.major === "1" ? /^(\d{1,4})\+?$/.exec(String(version.minor))?.[1] : undefined;
    return minor === undefined ? undefined : Number(minor);
  } catch {
    return undefined;
  }
}

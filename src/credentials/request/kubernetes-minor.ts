import type { RemoteClient } from "../../client/remote.ts";
import { parsedJson } from "../../client/replies.ts";
import { stringAt } from "../../apis/json-fields.ts";

/** The 27 of Kubernetes 1.27 that the hub says it is; undefined when it does not say, or is no version 1. @throws ConnectionError */
export async function kubernetesMinor(client: RemoteClient): Promise<number | undefined> {
  const reply = await client.raw("GET", "/version");
  if (reply.status !== 200) return undefined;
  const version = parsedJson(reply.body);
  // Some vendors write `27+`.
  const minor = /^(\d{1,4})\+?$/.exec(stringAt(version, "minor"))?.[1];
  return minor === undefined || stringAt(version, "major") !== "1" ? undefined : Number(minor);
}

import type { Client } from "../client/client.ts";
import { configMaps } from "../controllers/kinds.ts";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { readText, type NamedFiles } from "../host/read-text.ts";
import { certificatesOfBundle, PinError } from "../trust/pins.ts";

/** A server of the cluster, and its connection. */
export interface ClusterAccess<C extends Client = Client> {
  readonly client: C;
  readonly config: Pick<ResolvedKubeconfig, "caPem" | "server">;
}

/** CAs in PEM, and their pins. */
export interface TrustBundle {
  readonly pem: string;
  readonly pins: readonly string[];
}

interface RootCa extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The CAs that replies to machines contain: those of `--ca-file`, else of the kubeconfig, else of the cluster. @throws OptionError usage; PinError */
export async function trustBundleOf(
  file: string | undefined,
  { client, config }: ClusterAccess,
  files: NamedFiles,
): Promise<TrustBundle> {
  const pem = file === undefined ? (config.caPem ?? (await rootCa(client))) : await readText("ca-file", file, files);
  if (pem === undefined) {
    throw new OptionError("usage", "there is no CA to give to machines: the kubeconfig names none; give --ca-file");
  }
  try {
    return { pem, pins: certificatesOfBundle(pem).map(({ pin }) => pin) };
  } catch (error) {
    if (file === undefined || !(error instanceof PinError)) throw error;
    throw new OptionError("usage", `--ca-file ${file}: ${error.message}`);
  }
}

async function rootCa(client: Client): Promise<string | undefined> {
  const map = await client.get<RootCa>(configMaps, { namespace: "kube-public", name: "kube-root-ca.crt" });
  return map.data?.["ca.crt"];
}

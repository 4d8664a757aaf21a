import { getOrUndefined } from "../client/api-errors.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { configMaps } from "../apis/config-map.ts";
import { fieldsAt, stringAt } from "../apis/json-fields.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { systemRandom } from "../host/system-random.ts";

const key = { namespace: "kube-system", name: "extension-apiserver-authentication" };
const years = 10;

/** The front-proxy settings for aggregated API servers. Source: kubeadm's flags --requestheader-… of kube-apiserver. */
const requestHeader = {
  "requestheader-allowed-names": '["front-proxy-client"]',
  "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
  "requestheader-group-headers": '["X-Remote-Group"]',
  "requestheader-uid-headers": "[]",
  "requestheader-username-headers": '["X-Remote-User"]',
} as const;

/**
 * Writes the ConfigMap from which other API servers learn how this one authenticates clients. The hub is no front proxy: the front-proxy
 * CA in it has signed nothing, and its key is discarded. Such servers do not start without one. Source: kubernetes
 * pkg/controlplane/controller/clusterauthenticationtrust
 */
export async function putExtensionAuthentication(
  client: Client,
  { bundlePem }: Pick<Authorities, "bundlePem">,
  clock: Pick<Clock, "now">,
): Promise<void> {
  const found = await getOrUndefined(client, configMaps, key);
  const kept = stringAt(found, "data", "requestheader-client-ca-file");
  const data = {
    ...fieldsAt(found, "data"),
    ...requestHeader,
    "client-ca-file": bundlePem,
    "requestheader-client-ca-file": kept === "" ? keylessCa(clock.now()) : kept,
  };
  if (found === undefined) {
    await client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: key, data });
  } else if (JSON.stringify(found["data"]) !== JSON.stringify(data)) {
    await client.update(configMaps, { ...found, data });
  }
}

function keylessCa(now: number): string {
  return createCa({ commonName: "front-proxy-ca", key: generatePrivateKey(), years, now, random: systemRandom }).pem;
}

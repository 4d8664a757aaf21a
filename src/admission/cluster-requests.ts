import { forbidden } from "../apimachinery/status.ts";
import { addOnNameLabel, agentOf, clusterNameLabel } from "../apis/managed-cluster.ts";
import { stringAt } from "../apis/json-fields.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isAgent } from "./managed-cluster-agent.ts";

/**
 * Keeps the agents of clusters, who may all ask for certificates, to their own: a request of another's name would stand before the
 * people who approve, and ten of them would keep the other from asking. `commonNameOf` reads the subject of a PEM request.
 */
export function clusterRequestAdmission(commonNameOf: (pem: Uint8Array) => string): AdmissionPlugin {
  return {
    name: "ManagedClusterRequest",
    concerns: ({ group, plural }) => group === "certificates.k8s.io" && plural === "certificatesigningrequests",
    validate: async ({ resource, name, operation, subresource, object, user }) => {
      if (operation !== "CREATE" || subresource !== "" || object === undefined || !isAgent(user)) return;
      const { labels = {} } = object.metadata;
      const own = agentOf(user.username);
      if (own === undefined || labels[clusterNameLabel] !== own.cluster) {
        throw forbidden(
          resource,
          name,
          `an agent asks for certificates of its own cluster, under label ${clusterNameLabel}`,
        );
      }
      if (Object.hasOwn(labels, addOnNameLabel)) return;
      const pem = Buffer.from(stringAt(object, "spec", "request"), "base64");
      if (commonNameOf(pem) === user.username) return;
      throw forbidden(resource, name, "an agent asks for a certificate in its own name");
    },
  };
}

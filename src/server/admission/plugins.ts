import { HubError } from "../../apimachinery/hub-error.ts";

/** The plugins that can be turned on and off, by the names of Kubernetes, and whether they are on unless somebody says otherwise. */
const known: Readonly<Record<string, boolean>> = {
  NamespaceLifecycle: true,
  ServiceAccount: true,
  // Without the Node authorizer it does nothing unless it is enabled by name.
  NodeRestriction: true,
  OwnerReferencesPermissionEnforcement: false,
  CertificateApproval: true,
  CertificateSigning: true,
  CertificateSubjectRestriction: true,
  MutatingAdmissionPolicy: true,
  MutatingAdmissionWebhook: true,
  ValidatingAdmissionPolicy: true,
  ValidatingAdmissionWebhook: true,
};

export interface AdmissionPluginFlags {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/**
 * Whether a plugin runs; one that is not in the list of names cannot be turned off.
 * @throws HubError for a name that is unknown, or that is both enabled and disabled
 */
export function admissionPluginFilter({ enable, disable }: AdmissionPluginFlags): (name: string) => boolean {
  for (const [flag, names] of [
    ["enable-admission-plugins", enable],
    ["disable-admission-plugins", disable],
  ] as const) {
    const unknown = names.find((name) => !Object.hasOwn(known, name));
    if (unknown !== undefined) {
      const allowed = Object.keys(known).join(", ");
      throw new HubError("options", `--${flag}: plugin ${JSON.stringify(unknown)} is unknown; known are ${allowed}`);
    }
  }
  const both = enable.find((name) => disable.includes(name));
  if (both !== undefined) {
    throw new HubError("options", `${both} in enable-admission-plugins and disable-admission-plugins overlapped`);
  }
  return (name) =>
    !disable.includes(name) && (enable.includes(name) || !Object.hasOwn(known, name) || known[name] === true);
}

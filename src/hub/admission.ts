import { admissionChain, type Admission } from "../admission/admission.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  type SignerCheck,
} from "../admission/certificate-signers.ts";
import { mutatingWebhooks } from "../admission/mutating-webhooks.ts";
import { namespaceLifecycle } from "../admission/namespace-lifecycle.ts";
import { rbacEscalation } from "../admission/rbac-escalation.ts";
import { validatingWebhooks } from "../admission/validating-webhooks.ts";
import { bindingWriteRefusal, roleWriteRefusal, type BindingWrite } from "../authz/escalation.ts";
import { apiVersionOf, type ApiObject } from "../core/object.ts";
import { internalError } from "../core/status.ts";
import type { CallWebhook } from "../core/webhook-call.ts";
import { parseCsr } from "../pki/csr.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix, type Resource } from "../resources/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Authorization } from "./authorization.ts";
import type { LogEntry } from "./hub-options.ts";
import { webhookConfigurations } from "./webhook-configurations.ts";

export interface HubAdmissionOptions {
  readonly access: Authorization;
  readonly cache: WatchCache;
  /** The resources served now. */
  readonly resources: () => readonly Resource[];
  readonly call: CallWebhook;
  readonly uuid: () => string;
  readonly log: (entry: LogEntry) => void;
}

/** The admission plugins of a hub, in order. */
export function hubAdmission(options: HubAdmissionOptions): Admission {
  const { access, cache } = options;
  const namespaces = storagePrefix({ group: "", plural: "namespaces" });
  const signerCheck: SignerCheck = async (user, verb, name) => {
    const asked = {
      user,
      verb,
      group: "certificates.k8s.io",
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      path: undefined,
    };
    return (await access.chain.decide(asked)).verdict === "allow";
  };
  const checks = { authorize: access.chain.authorize, rules: access.index };
  const namespaceOf = (name: string): ApiObject | undefined => {
    const entry = cache.get(namespaces + name);
    return entry === undefined ? undefined : objectOf(entry);
  };
  const webhooks = {
    call: options.call,
    lookups: { namespaceOf, versionsOf: versionsIn(options.resources) },
    convert: convertObject,
    uuid: options.uuid,
    failedOpen: (webhook: string, error: string) =>
      options.log({ level: "warn", message: "a webhook could not be asked and is passed over", webhook, error }),
  };
  return admissionChain([
    namespaceLifecycle(namespaceOf),
    certificateApproval(signerCheck),
    certificateSigning(signerCheck),
    certificateSubjectRestriction((pem) => parseCsr(pem).subject.organizations),
    rbacEscalation({
      role: (write) => roleWriteRefusal(write, checks),
      binding: (write) => bindingWriteRefusal(write as BindingWrite, checks),
    }),
    mutatingWebhooks({ ...webhooks, webhooks: webhookConfigurations(cache, "mutatingwebhookconfigurations") }),
    validatingWebhooks({ ...webhooks, webhooks: webhookConfigurations(cache, "validatingwebhookconfigurations") }),
  ]);
}

/** All versions of a custom kind that are served; a built-in kind has one. */
function versionsIn(resources: () => readonly Resource[]): (resource: Resource) => readonly Resource[] {
  return (resource) =>
    resource.custom === undefined
      ? [resource]
      : resources().filter(({ group, plural }) => group === resource.group && plural === resource.plural);
}

async function convertObject(object: ApiObject, to: Resource): Promise<ApiObject> {
  const apiVersion = apiVersionOf(to.group, to.version);
  const convert = to.custom?.storage.convert;
  if (object.apiVersion === apiVersion || convert === undefined) return { ...object, apiVersion };
  const [converted] = await convert([object], apiVersion);
  if (converted === undefined) throw internalError(`conversion to ${apiVersion} returned no object`);
  return converted;
}

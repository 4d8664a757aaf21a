import { defineCommand, defineOptions, type Command } from "../command.ts";
import { serverOptions } from "../server-options.ts";
import { logOptions, servingOptions } from "../serving-options.ts";
import { policyOptions } from "./policy-options.ts";

/** `pratique authorizer`. */
export const authorizerCommand: Command = defineCommand({
  name: "authorizer",
  summary: "Decide the SubjectAccessReviews of any kube-apiserver with a policy in Rego or CEL",
  details: [
    "The policy is Rego from source (--policy), Rego compiled by OPA (--bundle), CEL (--cel), or an OPA server (--opa-url).",
    "Serves authorization.k8s.io/v1 and v1beta1 at /authorize over HTTPS. The policy sees the whole review as `input`; its rule is a boolean, or an object with allow, deny and reason. No value, and false, is no opinion, which refuses when no other authorizer allows; a policy that fails denies.",
    "Changed files are taken up within two seconds, and no request waits for that; files that do not compile change nothing. /metrics, /livez and /readyz are there.",
    "With --revocations it denies what is revoked, and until the list is known everything but reading the list. Put it first, with failurePolicy: Deny where the release has that, and a short cache: docs/revocation.md.",
    "Without --tls-cert-file it makes a CA in --cert-dir and serves under it. --print-kubeconfig prints the file for --authorization-webhook-config-file.",
  ],
  options: [
    ...policyOptions,
    ...defineOptions({
      "--revocations":
        "first deny every credential that a CredentialRevocation of the cluster names, whatever the policy says; a policy is then not needed. --kubeconfig must be allowed to list and watch them",
      "--bind-address IP = 127.0.0.1": "the address to listen on; 0.0.0.0 or :: for all",
      "--secure-port PORT = 8444": "the port; 0 for a free one",
      "--url URL": "the https:// URL at which kube-apiserver reaches it; default that of --bind-address",
    }),
    ...servingOptions({ dir: "pratique-authorizer", hosts: "--url", printed: "--print-kubeconfig" }),
    ...defineOptions({ "--print-kubeconfig": "print the file that kube-apiserver wants, and end" }),
    ...serverOptions,
    ...logOptions,
  ],
  examples: {
    "for an API server on this machine": "authorizer --policy k8s.rego --query data.k8s.allow",
    "with an OPA beside it": "authorizer --opa-url http://127.0.0.1:8181 --query data.k8s.allow",
    "that nothing but refuses what is revoked, as the first of several":
      "authorizer --revocations --kubeconfig authorizer.conf",
    "the file for it": "authorizer --policy k8s.rego --print-kubeconfig > authorizer.kubeconfig",
  },
  run: async (args, io) => (await import("./run-authorizer.ts")).runAuthorizer(args, io),
});

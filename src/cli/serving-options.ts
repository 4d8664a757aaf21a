import type { Option } from "./command.ts";

/** The options of every command that answers over HTTPS with a certificate of its own. */
export function servingOptions(of: {
  /** Default of `--cert-dir`. */
  readonly dir: string;
  /** Which options name further hosts, in words. */
  readonly hosts: string;
  /** Which options print the CA, in words. */
  readonly printed: string;
}): readonly Option[] {
  return [
    {
      name: "cert-dir",
      kind: "text",
      value: "DIR",
      default: of.dir,
      completes: "directory",
      description: "where the CA is kept that is made for the serving certificate",
    },
    {
      name: "tls-san",
      kind: "list",
      value: "NAMES",
      description: `more names and addresses for that certificate, besides those of ${of.hosts} and this machine`,
    },
    {
      name: "tls-cert-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "a serving certificate of your own, with its key in --tls-private-key-file",
    },
    {
      name: "tls-private-key-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the private key of that certificate",
    },
    {
      name: "tls-ca-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: `the CA of that certificate, for ${of.printed}; default the certificate itself`,
    },
    {
      name: "client-ca-file",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "answer only those who show a client certificate of this CA; default everybody",
    },
  ];
}

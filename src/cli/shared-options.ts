import { defineOptions, type Option } from "./command.ts";

/** The options of every command that calls a server. */
export const serverOptions: readonly Option[] = defineOptions({
  "--kubeconfig FILE":
    "the kubeconfig of the server; default the files of $KUBECONFIG, else ~/.kube/config, else the admin kubeconfig of a hub in ./pratique-data",
  "--context NAME": "the context of the kubeconfig; default its current-context",
});

/**
 * The options of every command that serves HTTPS with a certificate of its own: `dir` is the default of `--cert-dir`; `hosts` are the
 * options that name further hosts, `printed` those that print the CA.
 */
export function servingOptions(of: {
  readonly dir: string;
  readonly hosts: string;
  readonly printed: string;
}): readonly Option[] {
  return defineOptions({
    [`--cert-dir DIR = ${of.dir}`]: "the directory of the CA that signs the serving certificate",
    "--tls-san NAMES...": `more names and addresses for that certificate, besides those of ${of.hosts} and this machine`,
    "--tls-cert-file FILE": "a serving certificate of your own, with its key in --tls-private-key-file",
    "--tls-private-key-file FILE": "the private key of that certificate",
    "--tls-ca-file FILE": `the CA of that certificate, for ${of.printed}; default the certificate itself`,
    "--client-ca-file FILE": "accept only clients with a certificate of this CA; default all clients",
  });
}

/** The options of every long-running command, which writes a log to stderr. */
export const logOptions: readonly Option[] = defineOptions({
  "--log-format FORMAT = text": {
    choices: ["text", "json"],
    description: "the format of log lines on standard error; with json, errors and warnings are JSON as well",
  },
  "--log-level LEVEL = info": {
    choices: ["debug", "info", "warn", "error"],
    description: "the minimum level of log lines",
  },
});

import { defineOptions, type Option } from "./command.ts";

/** The options of every command that talks to a server. */
export const serverOptions: readonly Option[] = defineOptions({
  "--kubeconfig FILE":
    "how to reach the server and who to be there; else the files of $KUBECONFIG, else ~/.kube/config, else the admin kubeconfig of a hub in ./pratique-data",
  "--context NAME": "the context of the kubeconfig to use, instead of its current one",
});

/** The options of every command that answers over HTTPS with a certificate of its own: `dir` is the default of `--cert-dir`; `hosts` are the options that name further hosts, `printed` those that print the CA. */
export function servingOptions(of: {
  readonly dir: string;
  readonly hosts: string;
  readonly printed: string;
}): readonly Option[] {
  return defineOptions({
    [`--cert-dir DIR = ${of.dir}`]: "where the CA is kept that is made for the serving certificate",
    "--tls-san NAMES...": `more names and addresses for that certificate, besides those of ${of.hosts} and this machine`,
    "--tls-cert-file FILE": "a serving certificate of your own, with its key in --tls-private-key-file",
    "--tls-private-key-file FILE": "the private key of that certificate",
    "--tls-ca-file FILE": `the CA of that certificate, for ${of.printed}; default the certificate itself`,
    "--client-ca-file FILE": "answer only those who show a client certificate of this CA; default everybody",
  });
}

/** The options of every command that stays and writes a log to stderr. */
export const logOptions: readonly Option[] = defineOptions({
  "--log-format FORMAT = text": {
    choices: ["text", "json"],
    description:
      "how log lines on stderr look; with json, errors, warnings and faults of the program are lines of JSON too",
  },
  "--log-level LEVEL = info": { choices: ["debug", "info", "warn", "error"], description: "the least that is logged" },
});

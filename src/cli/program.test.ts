import { describe, expect, test } from "vitest";
import { ConnectionError } from "../client/client.ts";
import { StatusError } from "../apimachinery/status.ts";
import { fakeIo, runLine } from "../../test/kits/fake-io.ts";
import { isGroup, type Args, type Command } from "./command.ts";
import { commands } from "./commands.ts";
import { runProgram } from "./program.ts";

const usage = `Pratique brings machines into trust: a hub with a Kubernetes API and its own CA, and the agent that
joins it.

Usage:
  pratique COMMAND [FLAGS]

Commands:
  hub             Run a hub: an API server of Kubernetes with a CA, a store and controllers of its
                  own
  join            Join this machine to a hub: verify the hub, request a certificate, write a
                  kubeconfig
  request         Request access to a hub without a credential; the answer is encrypted to a key of
                  this machine
  agent           Renew the credentials of this machine before they expire
  klusterlet      Register this cluster with a hub, renew its lease and certificate, and report its
                  status
  credential      Print the credential that the agent renews, as an exec credential plugin
  token create    Create a bootstrap token and print it
  token list      List bootstrap tokens, including their secrets
  token delete    Delete bootstrap tokens; machines that have joined are not affected
  token generate  Print a random bootstrap token without contacting a server
  pending         List pending requests with their requesters and what they request
  approve         Approve certificate requests and access requests
  deny            Deny certificate requests and access requests
  revoke          Revoke access or a credential
  revocations     List revocations, export them as a signed list, or import such a list
  credentials     List issued credentials with their approver, expiry and when they were last used
  why             Explain why a user is or is not allowed to do something, and which right is
                  missing
  who-can         List the subjects that are allowed to do something, with binding and role
  cluster token   Write the bootstrap kubeconfig with which a cluster requests to join
  cluster join    Join this cluster to a hub; wait until it is approved, accepted and available
  cluster agent   Print the manifests of the agent for this cluster, for kubectl apply -f -
  cluster accept  Approve the certificate of the agent and accept the cluster
  cluster deny    Deny managed clusters and their pending certificate requests
  cluster list    List the managed clusters: which are accepted, their health, their last heartbeat
  cluster detach  Delete managed clusters from the hub with all objects that belong to them
  ca status       Show the CAs of a hub and the phase of a CA change
  ca prepare      Create the next CA, which is trusted at once and does not sign yet
  ca cancel       Remove the prepared CA and delete its key
  ca activate     Activate the prepared CA; the previous one stays trusted
  ca check        List the machines that would lose access if only the newest CA were trusted
  ca revoke       Remove the previous CA from the trust bundle and delete its key
  manifests       Print the manifests for access requests on any Kubernetes, for kubectl apply -f -
  controller      Run the controllers of access requests, serving certificates and managed clusters
                  on any Kubernetes
  webhook         Serve the admission webhook of access requests on any Kubernetes
  authorizer      Serve an authorization webhook that decides by a policy in Rego or CEL
  policy eval     Evaluate a policy for one input and print its value as JSON
  policy test     Run the rules whose names begin with test_
  policy check    Check which components a proposed chain of authorizers would lock out
  policy replay   Replay an audit log: which requests a proposed chain of authorizers would decide
                  differently
  simulate        Load-test a hub with simulated machines
  version         Print the version of this program, and of the server if there is a kubeconfig
  completion      Print the completion script of a shell

Exit codes:
  0    done
  1    failed for a reason that has no code of its own; the message says which
  2    the command line, a file it names or the kubeconfig is wrong; nothing was done
  3    the server could not be reached, or is not the one that is trusted
  4    the credentials were refused, the right is missing, or the request was denied
  5    timed out; run the same command again to resume
  6    an object that was named does not exist
  7    the state at the server does not allow it, for example it was decided otherwise
  8    policy replay found decisions that would change
  130  stopped by a signal before it was done

'pratique COMMAND --help' says more about a command.
`;

const tokenDelete = `Delete bootstrap tokens; machines that have joined are not affected

Usage:
  pratique token delete TOKEN... [FLAGS]

Examples:
  # by its id
  pratique token delete abcdef

Arguments:
  TOKEN  the id of a token, or the whole token

Flags:
      --kubeconfig FILE  the kubeconfig of the server; default the files of $KUBECONFIG, else
                         ~/.kube/config, else the admin kubeconfig of a hub in ./pratique-data
      --context NAME     the context of the kubeconfig; default its current-context
  -h, --help             show this text
`;

const tokenGroup = `Bootstrap tokens: the secrets with which machines prove that they may ask to join

Usage:
  kubectl pratique token COMMAND [FLAGS]

Commands:
  create    Create a bootstrap token and print it
  list      List bootstrap tokens, including their secrets
  delete    Delete bootstrap tokens; machines that have joined are not affected
  generate  Print a random bootstrap token without contacting a server

'kubectl pratique token COMMAND --help' says more about a command.
`;

describe("help", () => {
  const cases: Readonly<Record<string, string>> = {
    "": usage,
    help: usage,
    "--help": usage,
    "-h": usage,
    "help token delete": tokenDelete,
    "token delete --help": tokenDelete,
    "token delete abcdef -h": tokenDelete,
  };
  test.each(Object.entries(cases))("is shown for `pratique %s`", async (line, text) => {
    const io = fakeIo();
    expect(await runLine(line, io)).toBe(0);
    expect(io.out()).toBe(text);
    expect(io.err()).toBe("");
  });

  const everywhere = commands.flatMap((entry) => (isGroup(entry) ? entry.commands : [entry])).map(({ name }) => name);
  test.each(["", ...everywhere])("fits the terminal, but for lines that are to be copied: `%s`", async (name) => {
    const io = fakeIo({ tty: true });
    const narrow = { ...io, stdout: { ...io.stdout, columns: 80 } };
    await runProgram(
      commands,
      [...name.split(" "), "--help"].filter((word) => word !== ""),
      narrow,
    );
    const long = io
      .out()
      .split("\n")
      .filter((line) => line.length > 80 && !line.startsWith("  pratique ") && !line.startsWith("  # "));
    expect(long).toEqual([]);
    expect(io.out()).toContain("Usage:\n");
  });

  test.each(["token", "token --help", "help token"])("of a kubectl plugin names kubectl: `%s`", async (line) => {
    const io = fakeIo({ program: "kubectl pratique" });
    expect(await runLine(line, io)).toBe(0);
    expect(io.out()).toBe(tokenGroup);
  });
});

describe("a wrong command line", () => {
  const cases: Readonly<Record<string, string>> = {
    toekn: `error: unknown command "toekn" for "pratique"
Did you mean: pratique token
See 'pratique --help'.
`,
    "frobnicate -x": `error: unknown command "frobnicate" for "pratique"
See 'pratique --help'.
`,
    "token crate": `error: unknown command "token crate" for "pratique"
Did you mean: pratique token create
See 'pratique token --help'.
`,
    "token status": `error: unknown command "token status" for "pratique"
token has create, list, delete, generate
See 'pratique token --help'.
`,
    "--kubeconfig x pending": `error: unknown flag: --kubeconfig
Flags come after the command: pratique COMMAND --flag
See 'pratique --help'.
`,
    "hub --sceure-port 1": `error: unknown flag: --sceure-port
Did you mean --secure-port?
See 'pratique hub --help'.
`,
    "token delete": `error: TOKEN is missing: the id of a token, or the whole token
See 'pratique token delete --help'.
`,
    "hub now": `error: hub takes no arguments, but there is "now"
See 'pratique hub --help'.
`,
    "help toekn": `error: unknown command "toekn" for "pratique"
Did you mean: pratique token
See 'pratique --help'.
`,
    __proto__: `error: unknown command "__proto__" for "pratique"
See 'pratique --help'.
`,
  };
  test.each(Object.entries(cases))("`pratique %s` is refused with code 2", async (line, text) => {
    const io = fakeIo();
    expect(await runLine(line, io)).toBe(2);
    expect(io.err()).toBe(text);
    expect(io.out()).toBe("");
  });

  test("is shown escaped", async () => {
    const io = fakeIo();
    expect(await runLine(["to\u001b[2Jken"], io)).toBe(2);
    expect(io.err()).toContain("\\u{1b}[2Jken");
    expect(io.err()).not.toContain("\u001b");
  });
});

describe("a command under its deprecated name", () => {
  const ran: Args[] = [];
  const turn: Command = {
    name: "wheel turn",
    deprecatedName: "wheel spin",
    summary: "Turn the wheel",
    details: [],
    operands: [],
    options: [{ name: "far", kind: "boolean", default: "false", description: "turn it twice" }],
    examples: [],
    run: async (args) => {
      ran.push(args);
      return "conflict";
    },
  };
  const entries = [{ name: "wheel", summary: "Wheels", commands: [turn] }];
  const warning =
    'warning: the command "pratique wheel spin" is deprecated and works in this release only; use "pratique wheel turn"\n';

  test("runs with its flags and its exit code, and warns once on stderr", async () => {
    const io = fakeIo();
    expect(await runProgram(entries, ["wheel", "spin", "--far"], io)).toBe(7);
    expect(ran.map((args) => args.on("far"))).toEqual([true]);
    expect([io.out(), io.err()]).toEqual(["", warning]);
  });

  test.each(["wheel spin --help", "help wheel spin", "--help wheel spin", "wheel spin -h"])(
    "shows the help of the new name: `pratique %s`",
    async (line) => {
      const io = fakeIo();
      expect(await runProgram(entries, line.split(" "), io)).toBe(0);
      expect(io.out()).toContain("pratique wheel turn [FLAGS]");
      expect(io.out()).not.toContain("spin");
      expect(io.err()).toBe(warning);
    },
  );

  test("is pointed to the new name where the command line is wrong", async () => {
    const io = fakeIo();
    expect(await runProgram(entries, ["wheel", "spin", "--near"], io)).toBe(2);
    expect(io.err()).toMatch(/^warning: .*\nerror: unknown flag: --near\n[^]*See 'pratique wheel turn --help'\.\n$/);
  });

  test("is named as the plugin of kubectl names it", async () => {
    const io = fakeIo({ program: "kubectl pratique" });
    await runProgram(entries, ["wheel", "spin"], io);
    expect(io.err()).toContain('use "kubectl pratique wheel turn"');
  });

  test("is not in the help, and the new name is used without a warning", async () => {
    const io = fakeIo();
    await runProgram(entries, ["--help"], io);
    await runProgram(entries, ["wheel"], io);
    await runProgram(entries, ["wheel", "turn", "--help"], io);
    expect(io.out()).not.toContain("spin");
    expect(io.err()).toBe("");
  });
});

describe("what a command throws", () => {
  const cases: Readonly<Record<string, readonly [unknown, number, string]>> = {
    "a refused credential": [
      new StatusError("Unauthorized", "Unauthorized"),
      4,
      "error: the server does not accept the credentials (401 Unauthorized)\nThey may have expired, or belong to another server: see --kubeconfig.\n",
    ],
    "a missing right": [new StatusError("Forbidden", "secrets is forbidden"), 4, "error: secrets is forbidden\n"],
    "a missing object": [new StatusError("NotFound", 'secrets "x" not found'), 6, 'error: secrets "x" not found\n'],
    "a conflict": [new StatusError("Conflict", "modified"), 7, "error: modified\n"],
    "an invalid object": [new StatusError("Invalid", "invalid"), 1, "error: invalid\n"],
    "a server that is down": [
      new ConnectionError("ECONNREFUSED", "nothing listens at https://127.0.0.1:6443: check that the server runs"),
      3,
      "error: nothing listens at https://127.0.0.1:6443: check that the server runs\nA hub of your own is started with: pratique hub\n",
    ],
    "a server that does not answer": [
      new ConnectionError("TIMEOUT", "late"),
      5,
      "error: the server did not answer in time\nIs it overloaded, or a firewall between?\n",
    ],
    "another server's certificate": [
      new ConnectionError("SELF_SIGNED_CERT_IN_CHAIN", "self-signed"),
      3,
      "error: self-signed\n",
    ],
    "a server's message with an escape sequence": [
      new StatusError("Invalid", "a\u001b[31m\nb\u202e"),
      1,
      "error: a\\u{1b}[31m\\u{a}b\\u{202e}\n",
    ],
    "a bug": [new TypeError("x is not a function"), 1, "error: x is not a function\n"],
    "something that is no error": ["text", 1, "error: text\n"],
  };
  test.each(Object.entries(cases))("%s becomes a message and a code", async (_title, [thrown, code, text]) => {
    const io = fakeIo();
    const command: Command = {
      name: "demo",
      summary: "",
      details: [],
      operands: [],
      options: [],
      examples: [],
      run: () => Promise.reject(thrown),
    };
    expect(await runProgram([command], ["demo"], io)).toBe(code);
    expect(io.err()).toBe(text);
    expect(io.out()).toBe("");
  });
});

test("a command that says nothing about its end is done, whatever the function returns that it ends with", async () => {
  const silent: Command = {
    name: "silent",
    summary: "",
    details: [],
    operands: [],
    options: [],
    examples: [],
    // As a stream does, whose function has the type of one that returns nothing.
    run: async () => (() => true as unknown as undefined)(),
  };
  expect(await runProgram([silent], ["silent"], fakeIo())).toBe(0);
});

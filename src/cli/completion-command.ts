import type { Command, CommandEntry } from "./command.ts";

/** `pratique completion`; `entries` gives all commands, this one too. */
export function completionCommand(entries: () => readonly CommandEntry[]): Command {
  return {
    name: "completion",
    summary: "Print the completion script of a shell",
    details: [],
    operands: [
      {
        name: "SHELL",
        required: true,
        many: false,
        choices: ["bash", "zsh", "fish"],
        description: "bash, zsh or fish",
      },
    ],
    options: [],
    examples: [
      { note: "for bash", line: "completion bash > ~/.local/share/bash-completion/completions/pratique" },
      { note: "for zsh, in a folder of $fpath", line: "completion zsh > ~/.zsh/_pratique" },
      { note: "for fish", line: "completion fish > ~/.config/fish/completions/pratique.fish" },
    ],
    run: async (args, io) => {
      const { completionScript } = await import("./completion-script.ts");
      const [shell] = args.operands;
      io.stdout.write(completionScript(shell === "zsh" || shell === "fish" ? shell : "bash", entries()));
      return "ok";
    },
  };
}

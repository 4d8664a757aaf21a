import { parentPort } from "node:worker_threads";
import { readYaml } from "./bounded-yaml.ts";
import { YamlError } from "./yaml-error.ts";
import type { YamlJob, YamlJobResult } from "./yaml-job.ts";
import { yamlText } from "./yaml-text.ts";

function resultOf(job: YamlJob): YamlJobResult {
  if (job.kind === "stringify") return { text: yamlText(JSON.parse(job.texts.join(""))) };
  try {
    const { maxCharacters, maxValues } = job.limits;
    return { text: JSON.stringify(readYaml(job.text, { maxCharacters, maxValues, numbers: "number" })) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { code: error.code, message: error.message };
  }
}

parentPort?.on("message", (job: YamlJob) => parentPort?.postMessage(resultOf(job), []));

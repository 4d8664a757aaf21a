import { parentPort } from "node:worker_threads";
import { readYaml, yamlText } from "./bounded-yaml.ts";
import { YamlError, type YamlJob, type YamlJobResult } from "./yaml-error.ts";

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

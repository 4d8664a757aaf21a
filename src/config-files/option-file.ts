import { HubError } from "../apimachinery/hub-error.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";

/** What such a file may hold at most, in characters. */
const maxCharacters = 1 << 20;

/** The value of a file that an option of the hub names; `place` is option and file, for messages. @throws HubError options */
export function yamlOf(text: string, place: string): unknown {
  try {
    return loadYaml(text, { maxCharacters, numbers: "number" });
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new HubError("options", `${place}: ${error.message}`, { cause: error });
  }
}

/** Everything that is wrong with the fields of such a file, in one sentence. */
export function fieldsError(
  place: string,
  errors: readonly { readonly path: string; readonly message: string }[],
): HubError {
  return new HubError("options", `${place}: ${errors.map(({ path, message }) => `${path}: ${message}`).join("; ")}`);
}

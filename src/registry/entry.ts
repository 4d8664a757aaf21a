/** What the verbs hand out: an object as bytes that can be sent as they are, and as a parsed value where somebody looks inside. */
export { objectOf, passingObjectOf, type Entry } from "../storage/stored-object.ts";

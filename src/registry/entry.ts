/** The result of the verbs: an object as bytes that can be sent as they are, and as a parsed value on demand. */
export { objectOf, passingObjectOf, type Entry } from "../storage/stored-object.ts";

/**
 * Size limits of fields that callers control. A condition that reads a larger field fails, and so counts as true. With
 * these limits the cost of every condition is known when the policy is loaded.
 */

/** Entries of `request.metadata`. */
export const METADATA_MAX = 64;
/** Characters of `request.user`, and of each name and text of `request.metadata`. */
export const TEXT_MAX = 1024;
/** Programming languages of a request. */
export const LANGUAGES_MAX = 256;

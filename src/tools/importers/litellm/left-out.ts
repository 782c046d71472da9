import file from './left-out.json' with { type: 'json' };

/** Makes a table from keys. Keys with the same note are separated by blanks. */
const notesOf = (byKeys: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(byKeys).flatMap(([keys, note]) => keys.split(' ').map((key) => [key, note] as const)));

/** Keys of `litellm_params` without an equivalent, with an alternative. */
export const LEFT_OUT_PARAMS = notesOf(file.litellm_params);

/** Keys of `model_info` without an equivalent. */
export const LEFT_OUT_INFO = notesOf(file.model_info);

/** Keys of `router_settings` without an equivalent. */
export const LEFT_OUT_ROUTER = notesOf(file.router_settings);

/** Keys of `router_settings` for which Signalbox has a similar built-in behaviour. */
export const APPROXIMATED_ROUTER = notesOf(file.approximated_router_settings);

/** Keys of `litellm_settings` without an equivalent. */
export const LEFT_OUT_SETTINGS = notesOf(file.litellm_settings);

/** Keys of `general_settings` without an equivalent. */
export const LEFT_OUT_GENERAL = notesOf(file.general_settings);

/** Sections without an equivalent. */
export const LEFT_OUT_SECTIONS = notesOf(file.sections);

/** Parameters of guardrails without an equivalent. */
export const LEFT_OUT_GUARDRAIL = notesOf(file.guardrail_params);

/** Guardrails without a guard, by `guardrail` of their parameters. */
export const LEFT_OUT_GUARDRAILS = notesOf(file.guardrails);

import { SignalboxError } from '../core/errors.ts';
import type { Members } from '../core/json/original.ts';

/** @param param the path of the field at fault */
export const invalid = (param: string, message: string) => new SignalboxError('invalid_value', message, { param });
export const missing = (param: string, message: string) => new SignalboxError('missing_field', message, { param });
export const unsupported = (param: string, message: string) =>
  new SignalboxError('unsupported_parameter', message, { param });

/** Rejects fields with charges that no price of a catalog covers, because no hold could cover them. @param why the reason for each field */
export function refuseBilled(body: Members, why: Readonly<Record<string, string>>): void {
  for (const field in why) if (body[field] != null) throw unsupported(field, why[field]!);
}

/** Returns the error for a tool choice without tools. */
export const withoutTools = () => invalid('tool_choice', '`tool_choice` requires `tools`.');

/** Rejects a choice of a tool that the request does not offer. */
export function checkOffered(name: string, offered: ReadonlySet<unknown>, param: string): void {
  if (!offered.has(name)) throw invalid(param, `\`tools\` has no tool \`${name.slice(0, 64)}\`.`);
}

/**
 * Rejects a body that contains its conversation in a field of another API.
 * @param send the member to send instead
 */
export function refuseForeign(body: Members, fields: readonly string[], field: string, send: string): void {
  const foreign = fields.find((name) => body[name] != null);
  if (foreign === undefined) return;
  throw missing(field, `\`${field}\` is required. \`${foreign}\` is a field of another API. Send ${send} instead.`);
}

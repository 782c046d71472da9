import { isObject, type Json } from '../../../plugins/providers/json.ts';

/** The generation of a model: 2.5, 3.8, 4. Aliases such as `gemini-flash-latest` lead to the newest. */
export function generationOf(model: string): number {
  const [, number] = /gemini-(\d+(?:\.\d+)?)/.exec(model) ?? [];
  if (number !== undefined) return Number(number);
  // A name that is not Google's is taken for the generation that refuses least.
  return model.startsWith('gemini-') ? 4 : 2;
}

/** Marks a part by what it says: a call by its name and its arguments, whatever its id; any other as words. */
export function signatureOf(call?: Json): string {
  const said = call === undefined ? 'words' : { name: call.name, args: call.args ?? {} };
  return new Bun.CryptoHasher('sha256').update(`signed by the fake: ${sorted(said)}`).digest('base64');
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

/** What ai.google.dev/gemini-api/docs/thought-signatures names for calls that no model of Google's has made. */
export const PLACEHOLDERS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];

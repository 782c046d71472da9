import { isObject, type Json } from '../../../plugins/providers/json.ts';

/** Returns the generation of a model: 2.5, 3.8, 4. Aliases such as `gemini-flash-latest` mean the newest generation. */
export function generationOf(model: string): number {
  const [, number] = /gemini-(\d+(?:\.\d+)?)/.exec(model) ?? [];
  if (number !== undefined) return Number(number);
  // A name that is not Google's gets the rules of the generation that refuses least.
  return model.startsWith('gemini-') ? 4 : 2;
}

/** Signs a part by its content: a call by its name and arguments (not its ID), any other part by its text. */
export function signatureOf(call?: Json): string {
  const said = call === undefined ? 'words' : { name: call.name, args: call.args ?? {} };
  return new Bun.CryptoHasher('sha256').update(`signed by the fake: ${sorted(said)}`).digest('base64');
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

/** The placeholder signatures that ai.google.dev/gemini-api/docs/thought-signatures allows for calls that no Google model made. */
export const PLACEHOLDERS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];

import type { ComponentChildren } from 'preact';
import { Copy } from '../design/copy.tsx';
import { figure } from '../design/format.ts';
import { Tag } from '../design/tag.tsx';
import { When } from '../design/written.tsx';

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/**
 * Shows a member of a response for people: a moment relative to now, a number with three digits, a list with commas, labels as tags.
 * @param member its name, from which the function knows whether the value is a moment
 * @param none the word for an empty value
 */
export function show(member: string, value: unknown, none = 'None'): ComponentChildren {
  if (isEmpty(value)) return <span class="dim">{none}</span>;
  if (typeof value === 'string') return /_at$|^time$/.test(member) ? <When at={value} /> : value;
  if (typeof value === 'number') return figure(value).short;
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return (
    <span class="row">
      {Object.entries(value).map(([name, one]) => (
        <Tag key={name}>
          {name}={String(one)}
        </Tag>
      ))}
    </span>
  );
}

/** Writes the name of a member for people: `Last used` for `last_used_at`. */
export function nameOfMember(member: string): string {
  const words = member === 'id' ? 'ID' : member.replace(/_at$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * A fact is a member, whose name is its label; or a label with a member or a function that renders the value. The optional last part is the
 * word for an empty fact. Without that word, an empty fact is left out.
 */
export type Fact<Of> = (keyof Of & string) | NamedFact<Of>;

type FactContent<Of> = (keyof Of & string) | ((of: Of) => ComponentChildren);
type NamedFact<Of> = readonly [name: ComponentChildren, of: FactContent<Of>, none?: string | undefined];

/**
 * Lists the facts of an item, one on each line.
 * @example <Facts
 *   of={workload}
 *   facts={[
 *     'id',
 *     ['Issuer', ({ name, issuer }) => `${name}, ${issuer}`],
 *     ['Seen', 'last_seen_at', 'Never'],
 *   ]} />
 */
export function Facts<Of extends object>({ of, facts }: { readonly of: Of; readonly facts: readonly Fact<Of>[] }) {
  const shown = (part: FactContent<Of>, none?: string): ComponentChildren => {
    if (typeof part === 'function') return part(of) || (none !== undefined && show('', null, none));
    const value = of[part];
    if (none === undefined && isEmpty(value)) return null;
    return part === 'id' ? <Copy text={String(value)} label="the ID" /> : show(part, value, none);
  };
  return (
    <dl class="facts">
      {facts.map((fact, at) => {
        const [name, part, none]: NamedFact<Of> = typeof fact === 'string' ? [nameOfMember(fact), fact] : fact;
        const content = shown(part, none);
        return content && [<dt key={at}>{name}</dt>, <dd key={`${at} shown`}>{content}</dd>];
      })}
    </dl>
  );
}

import type { ComponentChildren } from 'preact';
import { Copy } from '../../design/copy.tsx';
import { Tag } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import type { KeyAnswer } from './drafts.ts';
import { KeyState } from './marks.tsx';
import { limitsText, modelsText, namesIn, useTeams, useUsers } from './words.ts';

/** A row of facts; nothing where there is none. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

/** What a key is and may do. */
export function KeyFacts({ of: key }: { readonly of: KeyAnswer }) {
  const team = namesIn(useTeams().data);
  const user = namesIn(useUsers().data);
  const labels = Object.entries(key.labels);
  return (
    <dl class="facts">
      <Fact name="State">
        <KeyState state={key.state} />
      </Fact>
      <Fact name="ID">
        <Copy text={key.id} label="the ID" />
      </Fact>
      <Fact name="Belongs to">
        {key.user !== null && <a href={hrefOf(`/people/members/${key.user}`)}>{user(key.user)}</a>}
        {key.user !== null && key.team !== null && ' in '}
        {key.team !== null && <a href={hrefOf(`/people/teams/${key.team}`)}>{team(key.team)}</a>}
        {key.wallet !== null && <span class="mono">{key.wallet}</span>}
        {key.user === null && key.team === null && key.wallet === null && <span class="dim">Nobody</span>}
      </Fact>
      {key.parent !== null && (
        <Fact name="Made by">
          <a href={hrefOf(`/people/keys/${key.parent}`)}>Key {key.parent}</a>
        </Fact>
      )}
      <Fact name="Scopes">{key.scopes.join(', ')}</Fact>
      <Fact name="Models">
        {modelsText(key.models) ?? <span class="dim">All that the policy, its team and its member allow</span>}
      </Fact>
      <Fact name="Rate limits">
        {limitsText(key.limits) ?? <span class="dim">Those of the policy, its team and its member</span>}
      </Fact>
      {labels.length > 0 && (
        <Fact name="Labels">
          <span class="row">
            {labels.map(([name, value]) => (
              <Tag key={name}>
                {name}={value}
              </Tag>
            ))}
          </span>
        </Fact>
      )}
      {key.wallets && <Fact name="Agent wallets">{key.wallets.join(', ')}</Fact>}
      <Fact name="Made">
        <When at={key.created_at} />
      </Fact>
      <Moment name="Last used" at={key.last_used_at} none="Never" />
      <Moment name="Expires" at={key.expires_at} none="Never" />
      <Moment name="Rotated" at={key.rotated_at} />
      <Moment name="Old secret works" at={key.overlap_ends_at} before="until " />
      <Moment name="Suspended" at={key.suspended_at} />
      <Moment name="Revoked" at={key.revoked_at} />
    </dl>
  );
}

interface MomentProps {
  readonly name: string;
  readonly at: string | null;
  /** Without it the row is left out. */
  readonly none?: string;
  readonly before?: string;
}

const Moment = ({ name, at, none, before = '' }: MomentProps) =>
  at === null && none === undefined ? null : (
    <Fact name={name}>
      {before}
      {at === null ? <span class="dim">{none}</span> : <When at={at} />}
    </Fact>
  );

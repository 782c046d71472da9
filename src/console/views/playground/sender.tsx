import type { Operation } from '../../../core/kinds/operations.ts';
import { permissionsOf } from '../../../core/people/caller.ts';
import type { ApiFailure } from '../../api/failure.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Select } from '../../design/field.tsx';
import { Failure, Skeleton } from '../../design/states.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';

type OwnKey = Pick<ReadOf<'/admin/keys'>['data'][number], 'id' | 'name' | 'scopes'>;

/** The valid keys with which the viewer can send requests: the person's own keys, or the key that signed in. */
export interface OwnKeys {
  /** Null while the keys load. */
  readonly keys: readonly OwnKey[] | null;
  readonly chosen: OwnKey | null;
  readonly maySend: boolean;
  /** The failure of the list. */
  readonly failure: ApiFailure | null;
  renew(): void;
  /** The ID of the person; null if a key signed in. */
  readonly user: string | null;
}

/** @param id the key in the address; '' for the first key */
export function useOwnKeys(id: string): OwnKeys {
  const maySend = reachOfViewer('playground.send') !== null;
  const now = session.value;
  const viewer = now.state === 'in' ? now.viewer : null;
  const user = viewer?.user?.id ?? null;
  const listed = useResource(
    '/admin/keys',
    { user, state: 'valid', limit: 100 },
    { isWanted: maySend && user !== null },
  );
  const itself = useResource(
    `/admin/keys/${viewer?.key_id ?? ''}`,
    {},
    { isWanted: maySend && viewer?.key_id != null },
  );
  const { failure, renew } = user === null ? itself : listed;
  const all = user === null ? itself.data && [itself.data] : (listed.data?.data ?? null);
  const keys: readonly OwnKey[] | null = maySend ? all : [];
  return { keys, chosen: keys?.find((key) => key.id === id) ?? keys?.[0] ?? null, maySend, failure, renew, user };
}

interface SenderProps {
  readonly own: OwnKeys;
  readonly operation: Operation;
  onKey(id: string): void;
  readonly isStreamed: boolean;
  /** False for an operation whose answers cannot be streamed, such as embeddings. */
  readonly canStream: boolean;
  onStreamed(isStreamed: boolean): void;
  readonly isReady: boolean;
  readonly isUnderWay: boolean;
  onSend(): void;
  onStop(): void;
}

/** Selects the key and sends the request. A viewer who may not send requests sees who may send them. */
export function Sender(props: SenderProps) {
  const { own, operation, onKey, isStreamed, canStream, onStreamed, isReady, isUnderWay, onSend, onStop } = props;
  if (!own.maySend) {
    return (
      <div class="playground-sender">
        <h3>Your role can see decisions but cannot send requests</h3>
        <p class="dim">Owners, admins, team leads and members can send requests here with their own keys.</p>
      </div>
    );
  }
  if (own.keys === null) {
    if (own.failure) return <Failure what="Your keys" failure={own.failure} onRetry={own.renew} />;
    return <Skeleton rows={2} />;
  }
  if (!own.chosen) {
    return (
      <div class="playground-sender">
        <h3>You have no key</h3>
        <p class="dim">
          The playground sends a request with one of your keys, and charges the key.{' '}
          <a href={hrefOf('/people/keys/new', { user: own.user })}>Create a key</a>
        </p>
      </div>
    );
  }
  const permissions = permissionsOf(own.chosen.scopes);
  const lacksScope = !permissions.has(operation) && !permissions.has('admin');
  return (
    <div class="playground-sender">
      <Select
        label="Send with your key"
        value={own.chosen.id}
        onValue={onKey}
        options={own.keys.map(({ id, name }) => ({ value: id, label: `${name} (${id})` }))}
        hint={
          lacksScope
            ? `This key lacks the scope ${operation}. Choose a key with the scope ${operation}.`
            : 'The key pays for the request, and its scopes, models and limits apply.'
        }
      />
      <div class="row row-apart">
        <label class="row">
          <input
            type="checkbox"
            checked={isStreamed && canStream}
            disabled={!canStream}
            onChange={(event) => onStreamed(event.currentTarget.checked)}
          />
          Stream
        </label>
        {isUnderWay ? (
          <Button kind="danger" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button kind="first" disabled={!isReady} onClick={onSend}>
            Send request
          </Button>
        )}
      </div>
    </div>
  );
}

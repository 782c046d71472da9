import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Action } from '../../admin/use-cases/roles.ts';
import { type SendOptions, send } from '../api/client.ts';
import { renewAll } from '../api/resource.ts';
import { Button, ButtonLink } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { Field, Select } from '../design/field.tsx';
import { toast } from '../design/toast.tsx';
import { reachOfViewer } from '../shell/session.ts';
import type { Option } from './draft.ts';

/**
 * The resources below `/admin/` that a change may affect elsewhere on the page. Traffic figures are left out, because they are the most
 * expensive to read.
 */
const CHANGED = ['keys', 'teams', 'users', 'subjects', 'logins', 'trail', 'wallets', 'payments', 'ledger'];

/** Reads the data again that a change may have affected. */
export const renewChanged = (): void => {
  for (const name of CHANGED) renewAll(`/admin/${name}`);
};

interface ActOptions extends SendOptions {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  readonly undo?: () => void;
}

/**
 * Sends a change at once, and shows a message. If the server refuses the change, the message says why.
 * @param message "billing-app is suspended"; empty if the page shows the result itself
 * @returns the response; null if the server refused the change
 */
export async function act<Answer>(
  path: string,
  message: string,
  { method = 'POST', undo, ...options }: ActOptions = {},
): Promise<Answer | null> {
  const result = await send<Answer>(method, path, options);
  if (!result.ok) {
    toast(result.failure.message);
    return null;
  }
  renewChanged();
  if (message !== '') toast(message, undo);
  return result.value;
}

/** A button that sends a change. */
export interface Change {
  /** The label, a verb. Two alternating changes, such as "Suspend" and "Resume", share one button whose label changes: see `slot`. */
  readonly label: string;
  /** The full name for screen readers, if several rows of a table have the same label. */
  readonly name?: string;
  /** The action that the role must include; absent if the caller has checked it. */
  readonly action?: Action;
  readonly isHidden?: boolean;
  /** The label while the change runs; by default the same label. */
  readonly busy?: string;
  /** Whether the change already runs, because another viewer started it. */
  readonly isBusy?: boolean;
  readonly kind?: 'first' | 'danger';
  /** A button that replaces another button of the same slot keeps the focus. */
  readonly slot?: string;
  readonly path: string;
  readonly method?: ActOptions['method'];
  readonly body?: object;
  /** The message after the change; empty if the page shows the result itself. */
  readonly done: string;
  /** The change that the message offers to undo: the path of the request that undoes it, and the message after that. */
  readonly undo?: readonly [path: string, done: string];
  /** The confirmation: its title, the consequence, and the verb with its object. */
  readonly question?: readonly [title: string, text: ComponentChildren, confirm: string];
  /** A field of the confirmation that becomes a member of the body. Without options, the field is a text field. */
  readonly input?: {
    readonly of: string;
    readonly label: string;
    readonly placeholder?: string;
    readonly usual?: string;
    readonly options?: readonly Option[];
    /** Whether the value is sent as a number. */
    readonly isNumber?: boolean;
  };
  onDone?(answer: unknown): void;
}

/** A button that opens another page. */
interface Way extends Pick<Change, 'label' | 'action' | 'isHidden'> {
  readonly href: string;
  readonly kind?: 'plain' | 'first';
}

/**
 * The buttons for an item. Buttons that the role may not use are hidden. Each change is sent at once, or after a confirmation, and shows a
 * message.
 * @example <Actions
 *   of={[
 *     { label: 'Change', action: 'keys.change', href: hrefWith({ edit: 'yes' }) },
 *     {
 *       label: 'Revoke',
 *       kind: 'danger',
 *       action: 'keys.change',
 *       path: `/admin/keys/${id}/revoke`,
 *       done: `${name} is revoked.`,
 *       question: [`Revoke ${name}?`, 'Requests with it fail within a second.', 'Revoke key'],
 *     },
 *   ]} />
 */
export function Actions({
  of,
  children,
}: {
  readonly of: readonly (Change | Way)[];
  /** Content after the buttons. */
  readonly children?: ComponentChildren;
}) {
  const [open, setOpen] = useState<Change | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (change: Change, typed: string): Promise<void> => {
    setBusy(true);
    const answer = await sendChange(change, typed);
    setBusy(false);
    // Another confirmation that was opened in the meantime stays open.
    setOpen((now) => (now === change ? null : now));
    if (answer !== null) change.onDone?.(answer);
  };
  const shown = of.filter(({ isHidden, action }) => !isHidden && (!action || reachOfViewer(action) !== null));
  if (shown.length === 0 && !children) return null;
  return (
    <div class="row">
      {shown.map((one) =>
        'href' in one ? (
          <ButtonLink key={one.label} href={one.href} kind={one.kind}>
            {one.label}
          </ButtonLink>
        ) : (
          <Button
            key={one.slot ?? one.label}
            disabled={isBusy || one.isBusy}
            kind={one.kind}
            aria-label={one.name}
            onClick={() => (one.question ? setOpen(one) : void run(one, ''))}
          >
            {isBusy || one.isBusy ? (one.busy ?? one.label) : one.label}
          </Button>
        ),
      )}
      {children}
      {open?.question && (
        <Question
          of={open}
          question={open.question}
          isBusy={isBusy}
          onClose={() => setOpen(null)}
          onAnswer={(typed) => void run(open, typed)}
        />
      )}
    </div>
  );
}

function sendChange({ path, method, body, done, undo, input }: Change, typed: string): Promise<unknown> {
  const stated = input && typed.trim() !== '' ? { [input.of]: input.isNumber ? Number(typed) : typed.trim() } : null;
  return act(path, done, {
    ...(method && { method }),
    ...((body || input) && { body: { ...body, ...stated } }),
    ...(undo && { undo: () => void act(undo[0], undo[1]) }),
  });
}

interface QuestionProps {
  readonly of: Change;
  readonly question: NonNullable<Change['question']>;
  readonly isBusy: boolean;
  onClose(): void;
  onAnswer(typed: string): void;
}

function Question({ of: { input }, question: [title, text, confirm], isBusy, onClose, onAnswer }: QuestionProps) {
  const [typed, setTyped] = useState(input?.usual ?? '');
  const field = { label: input?.label ?? '', value: typed, onValue: setTyped };
  return (
    <Dialog title={title} action={confirm} isBusy={isBusy} onClose={onClose} onAction={() => onAnswer(typed)}>
      {text}
      {input &&
        (input.options ? (
          <Select {...field} options={input.options} />
        ) : (
          <Field {...field} placeholder={input.placeholder} />
        ))}
    </Dialog>
  );
}

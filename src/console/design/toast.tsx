import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Coded } from './written.tsx';

interface ToastText {
  readonly id: number;
  readonly text: string;
  readonly undo: (() => void) | null;
}

const TOASTS_MAX = 3;
/** Gives the viewer time to read the message and to undo the change, ms. */
const TOAST_MS = 8_000;

const toasts = signal<readonly ToastText[]>([]);
const made = signal(0);

/**
 * Shows a message about a change.
 * @param undo reverses the change; absent if it cannot be undone
 */
export function toast(text: string, undo?: () => void): void {
  made.value += 1;
  toasts.value = [...toasts.value, { id: made.value, text, undo: undo ?? null }].slice(-TOASTS_MAX);
}

const dismiss = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id);
};

function Toast({ id, text, undo }: ToastText) {
  // The message stays while the pointer or the focus is on the message.
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => dismiss(id), TOAST_MS);
    return () => clearTimeout(timer);
  }, [id, isHeld]);
  return (
    <div
      class="toast"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocusIn={() => setHeld(true)}
      onFocusOut={() => setHeld(false)}
    >
      <span>
        <Coded text={text} />
      </span>
      {undo && (
        <Button
          onClick={() => {
            dismiss(id);
            undo();
          }}
        >
          Undo
        </Button>
      )}
      <Button onClick={() => dismiss(id)} aria-label="Dismiss the message">
        Dismiss
      </Button>
    </div>
  );
}

/** The container of all messages, once on the page. */
export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((one) => (
      <Toast key={one.id} {...one} />
    ))}
  </div>
);

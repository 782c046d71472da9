import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  /** The question with its object: "Revoke billing-app?" */
  readonly title: string;
  /** The consequence: "Requests with it fail within a second." */
  readonly children: ComponentChildren;
  /** The verb and the object: "Revoke key". */
  readonly action: string;
  readonly isBusy?: boolean;
  onAction(): void;
  onClose(): void;
}

/** Asks for confirmation before a change that destroys something or cannot be undone. Nothing else uses a dialog. The dialog is open while it is rendered. */
export function Dialog({ title, children, action, isBusy, onAction, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect runs its cleanup before the next paint, so the focus returns at once.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close();
      // When this cleanup runs, the dialog has left the page, so the browser does not restore the focus.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onCancel={onClose}>
      <div class="stack-tight">
        <h2 id={id}>{title}</h2>
        <div class="dim">{children}</div>
      </div>
      <div class="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger-first" disabled={isBusy} onClick={onAction}>
          {action}
        </Button>
      </div>
    </dialog>
  );
}

import type { ComponentChildren, JSX } from 'preact';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'kind'> {
  /** `first` is the main button of the screen; `danger` opens the confirmation of a destructive action, `danger-first` confirms it. */
  readonly kind?: 'first' | 'danger' | 'danger-first' | 'plain' | undefined;
  /** A verb: "Revoke key". */
  readonly children: ComponentChildren;
}

export const Button = ({ kind, children, ...rest }: ButtonProps) => (
  <button type="button" {...rest} class={`button${kind ? ` button-${kind}` : ''}`}>
    {children}
  </button>
);

/** A link that looks like a button and leads to another page. */
export const ButtonLink = ({
  kind,
  href,
  children,
  download,
}: {
  readonly kind?: ButtonProps['kind'] | undefined;
  readonly href: string;
  readonly children: ComponentChildren;
  readonly download?: string;
}) => (
  <a class={`button${kind ? ` button-${kind}` : ''}`} href={href} {...(download !== undefined && { download })}>
    {children}
  </a>
);

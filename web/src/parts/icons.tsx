// Line icons of 16 by 16, with one stroke width; decoration only, the meaning is in the word beside them.
import type { ReactNode } from 'react';

const shapes = {
  overview: <path d="M2 2h5v6H2zM9 2h5v4H9zM9 8h5v6H9zM2 10h5v4H2z" />,
  payments: (
    <path d="M1.75 4.5c0-.7.55-1.25 1.25-1.25h10c.7 0 1.25.55 1.25 1.25v7c0 .7-.55 1.25-1.25 1.25H3c-.7 0-1.25-.55-1.25-1.25zM1.75 6.5h12.5M4.5 10h2" />
  ),
  fiscal: <path d="M3.5 1.75h9v12.5l-1.8-1.2-1.35 1.2L8 13.05l-1.35 1.2-1.35-1.2-1.8 1.2zM6 5h4M6 7.75h4" />,
  invoices: <path d="M2 2h4.5v4.5H2zM9.5 2H14v4.5H9.5zM2 9.5h4.5V14H2zM9.5 9.5h2v2h-2zM14 9.5v2M11.5 14H14" />,
  devices: (
    <path d="M4.5 1.75h7c.55 0 1 .45 1 1v10.5c0 .55-.45 1-1 1h-7c-.55 0-1-.45-1-1V2.75c0-.55.45-1 1-1zM5.75 4h4.5v2.5h-4.5zM6 9h.01M8 9h.01M10 9h.01M6 11.5h.01M8 11.5h.01M10 11.5h.01" />
  ),
  callbacks: <path d="M2 6h9.5a3.5 3.5 0 0 1 0 7H8M5 3 2 6l3 3" />,
  attention: <path d="M8 2.25 14.25 13.5H1.75zM8 6.5v3M8 11.4h.01" />,
  dayClose: (
    <path d="M2 4.5C2 3.7 2.7 3 3.5 3h9c.8 0 1.5.7 1.5 1.5v8c0 .8-.7 1.5-1.5 1.5h-9c-.8 0-1.5-.7-1.5-1.5zM2 6.5h12M5 1.5v3M11 1.5v3M5.5 10.2l1.7 1.7 3.3-3.2" />
  ),
  keys: <path d="M9.6 6.4 14 2M11.5 4.5l1.75 1.75M8.2 10.6a2.9 2.9 0 1 1-2.8-2.8 2.9 2.9 0 0 1 2.8 2.8zM7.4 8.6l2.2-2.2" />,
  merchants: (
    <path d="M2.5 7v7h11V7M1.75 5.75 3 2h10l1.25 3.75a2.08 2.08 0 0 1-4.16.4 2.1 2.1 0 0 1-4.18 0 2.08 2.08 0 0 1-4.16-.4zM6.5 14v-3.5h3V14" />
  ),
  users: (
    <path d="M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.3-2.4 2-4 4.5-4s4.2 1.6 4.5 4M10.5 2.9a2.3 2.3 0 0 1 0 4.3M12 9.9c1.4.5 2.3 1.8 2.5 3.6" />
  ),
  audit: <path d="M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3" />,
  playground: (
    <path d="M3 3h10c.7 0 1.25.55 1.25 1.25v7.5c0 .7-.55 1.25-1.25 1.25H3c-.7 0-1.25-.55-1.25-1.25v-7.5C1.75 3.55 2.3 3 3 3zM6.75 5.75v4.5L10.25 8z" />
  ),
  developers: <path d="m5 4.5-3.5 3.5L5 11.5M11 4.5l3.5 3.5-3.5 3.5M9.25 2.75l-2.5 10.5" />,
  search: <path d="M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.5 10.5 14 14" />,
  help: (
    <path d="M14.25 8a6.25 6.25 0 1 1-12.5 0 6.25 6.25 0 0 1 12.5 0zM6.25 6.25a1.75 1.75 0 1 1 2.4 1.6c-.4.2-.65.5-.65 1.05M8 11.25h.01" />
  ),
  sun: (
    <path d="M10.75 8a2.75 2.75 0 1 1-5.5 0 2.75 2.75 0 0 1 5.5 0zM8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" />
  ),
  moon: <path d="M13.5 9.6A5.75 5.75 0 0 1 6.4 2.5 5.75 5.75 0 1 0 13.5 9.6z" />,
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  right: <path d="m6 4 4 4-4 4" />,
  left: <path d="m10 4-4 4 4 4" />,
  up: <path d="M8 13V3.5M4 7.25 8 3.25l4 4" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  menu: <path d="M2 4h12M2 8h12M2 12h12" />,
  plus: <path d="M8 3v10M3 8h10" />,
  export: <path d="M8 10V2.25M5 5l3-3 3 3M2.5 9.5v4h11v-4" />,
  link: (
    <path d="M6.75 9.25a2.75 2.75 0 0 0 3.9 0l2.3-2.3a2.75 2.75 0 0 0-3.9-3.9l-.8.8M9.25 6.75a2.75 2.75 0 0 0-3.9 0l-2.3 2.3a2.75 2.75 0 0 0 3.9 3.9l.8-.8" />
  ),
  print: <path d="M4.5 6V2h7v4M4.5 11.5h-2.5V6h12v5.5h-2.5M4.5 9.5h7V14h-7z" />,
  lock: (
    <path d="M4.25 7h7.5c.55 0 1 .45 1 1v4.75c0 .55-.45 1-1 1h-7.5c-.55 0-1-.45-1-1V8c0-.55.45-1 1-1zM5.25 7V5a2.75 2.75 0 0 1 5.5 0v2" />
  ),
  refund: <path d="M3 6.5h6.5a3.25 3.25 0 0 1 0 6.5H6M5.75 3.75 3 6.5l2.75 2.75" />,
  void: <path d="M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM3.8 12.2l8.4-8.4" />,
  ask: <path d="M2.5 3h11v7.5H8L5 13.25V10.5H2.5z" />,
  gavel: <path d="M3 13.5h6M6.5 6.5l3-3 3 3-3 3zM8 8l-4.25 4.25M10 2.5l3.5 3.5" />,
  closeDocument: <path d="M3.5 1.75h6L12.5 5v9.25h-9zM5.75 9.5l1.5 1.5 3-3" />,
  erp: <path d="M2 2.75h12v8H2zM6 13.5h4M8 10.75v2.75" />,
  gateway: <path d="M3.5 13.5V8a4.5 4.5 0 0 1 9 0v5.5M5.5 10.5h5" />,
  mqtt: <path d="M2 6.5a8.5 8.5 0 0 1 12 0M4.25 9a5.25 5.25 0 0 1 7.5 0M8 12.25h.01M6.4 10.9a2.3 2.3 0 0 1 3.2 0" />,
  queue: <path d="M1.75 6h3.5v4h-3.5zM6.25 6h3.5v4h-3.5zM10.75 6h3.5v4h-3.5z" />,
  device: (
    <path d="M4.5 1.75h7c.55 0 1 .45 1 1v10.5c0 .55-.45 1-1 1h-7c-.55 0-1-.45-1-1V2.75c0-.55.45-1 1-1zM5.75 4h4.5v2.5h-4.5zM6 9.5h4M6 11.75h4" />
  ),
  bank: <path d="M2 6 8 2.5 14 6zM3.5 6v5.5M6.5 6v5.5M9.5 6v5.5M12.5 6v5.5M2 13.5h12" />,
  person: <path d="M10.5 5a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM3 13.75c.4-2.6 2.3-4.25 5-4.25s4.6 1.65 5 4.25" />,
  receipt: <path d="M3.5 1.75h9v12.5l-1.8-1.2-1.35 1.2L8 13.05l-1.35 1.2-1.35-1.2-1.8 1.2zM6 5h4M6 7.75h4" />,
  out: <path d="M9.5 3V2h-7v12h7v-1M6 8h8M11 5l3 3-3 3" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" />,
  refresh: <path d="M13.25 6.5A5.5 5.5 0 0 0 3.4 5L2 6.5M2 3v3.5h3.5M2.75 9.5a5.5 5.5 0 0 0 9.85 1.5L14 9.5M14 13V9.5h-3.5" />,
  send: <path d="M14 2 7 9M14 2 9.5 14 7 9 2 6.5z" />,
  offline: <path d="M2 2l12 12M4.25 9a5.25 5.25 0 0 1 3-1.5M2 6.5a8.5 8.5 0 0 1 2.9-1.95M8 4a8.5 8.5 0 0 1 6 2.5M8 12.25h.01" />,
  power: <path d="M8 1.75v6M4.6 3.9a5.25 5.25 0 1 0 6.8 0" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {shapes[name]}
    </svg>
  );
}

export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6.5" fill="var(--bar)" />
      <path d="M6.25 18.5V11a5.75 5.75 0 0 1 11.5 0v7.5M6.25 14h11.5" fill="none" stroke="#fff" strokeWidth="2.2" strokeLinecap="round" />
    </svg>
  );
}

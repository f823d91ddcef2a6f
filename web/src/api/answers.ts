// Made by scripts/web-types.ts of openapi/cabinet.json: what each call of the cabinet answers.

export interface CommandRow {
  id: string;
  name: string;
  state: 'sent' | 'unknown' | 'done' | 'refused' | 'never' | 'disputed';
  shownState:
    | 'paid'
    | 'waiting'
    | 'unknown'
    | 'notClosed'
    | 'needsPerson'
    | 'declined'
    | 'busy'
    | 'refunded'
    | 'partlyRefunded'
    | 'voided'
    | 'never'
    | 'done';
  at: string;
  amount?: number;
  refunded?: number;
  documentNr?: string;
  operationId?: string;
  rrn?: string;
  receiptUid?: string;
  receiptNumber?: string;
  targetId?: string;
  deviceId: string;
  deviceName: string;
  shop?: string;
  bank?: string;
  merchantId: string;
  merchantName: string;
  durationMs?: number;
  receipt?: 'printed' | 'none' | 'notRequested';
  erp?: 'notified' | 'waiting' | 'dead';
  documentState?: 'open' | 'closed' | 'voided';
  settledBy?: string;
  review?: { since: string; reason: string };
}

export interface NextStep {
  action: 'refund' | 'void' | 'close' | 'closeByHand' | 'ask' | 'decide' | 'cancel' | 'resend';
  isAllowed: boolean;
  whyNot?: Said;
  maxAmount?: number;
  closesReview?: boolean;
  keepsSettlement?: boolean;
  contradiction?: string;
  asksNumbers?: boolean;
  callbackId?: string;
  notice?: string;
  consequence: Said;
}

export type OperationState = 'Open' | 'Done' | 'Closed' | 'Voided' | 'Refunded' | 'Refused' | 'Never' | 'Disputed';

export interface Said {
  key: string;
  params: Record<string, string | number>;
}

export interface Step {
  at: string;
  sinceStartMs: number;
  actor: 'erp' | 'gateway' | 'device' | 'bank' | 'person' | 'callback';
  from?: 'erp' | 'gateway' | 'mqtt' | 'queue' | 'device' | 'bank' | 'person';
  to?: 'erp' | 'gateway' | 'mqtt' | 'queue' | 'device' | 'bank' | 'person';
  via?: 'mqtt' | 'queue';
  kind: string;
  isMoney: boolean;
  isLost?: boolean;
  learnedAt?: string;
  repeats?: number;
  text: Said;
  detail?: string;
}

export interface Answers {
  listCallbacks: {
    callbacks: {
      id: string;
      merchantId: string;
      subjectKind: 'invoice' | 'operation';
      subjectId: string;
      sequence: number;
      url: string;
      state: 'pending' | 'delivered' | 'dead';
      attempts: number;
      createdAt: string;
      nextAttemptAt?: string;
      endedAt?: string;
      last?: { status?: number; error?: string; durationMs: number };
    }[];
    next?: string;
  };
  readCallback: {
    callback: {
      id: string;
      merchantId: string;
      subjectKind: 'invoice' | 'operation';
      subjectId: string;
      sequence: number;
      url: string;
      state: 'pending' | 'delivered' | 'dead';
      attempts: number;
      createdAt: string;
      nextAttemptAt?: string;
      endedAt?: string;
    };
    attempts: { attempt: number; at: string; status?: number; error?: string; durationMs: number; responseHead?: string }[];
  };
  resendCallbacks: { count: number };
  listOrphans: {
    orphans: {
      kind: 'paydRefused' | 'unmatched';
      id: number;
      merchantId: string;
      oid: string;
      receiptId: string;
      deviceId: string;
      reason: string;
      at: string;
    }[];
  };
  rotateQrSecret: { id: number };
  listReview: {
    commands: {
      id: string;
      merchantId: string;
      deviceId: string;
      name: string;
      state: 'sent' | 'unknown' | 'done' | 'refused' | 'never' | 'disputed';
      amount?: number;
      documentNr?: string;
      operationId?: string;
      receiptUid?: string;
      issuedAt: string;
      settledAt?: string;
      settledBy?: string;
      reason?: string;
      report?: string;
      documentState?: 'open' | 'closed' | 'voided';
      reviewSince?: string;
      reviewReason?: string;
      contradiction?: string;
      removedAt?: string;
    }[];
  };
  decideCommand: {
    command: {
      id: string;
      merchantId: string;
      deviceId: string;
      name: string;
      state: 'sent' | 'unknown' | 'done' | 'refused' | 'never' | 'disputed';
      amount?: number;
      documentNr?: string;
      operationId?: string;
      receiptUid?: string;
      issuedAt: string;
      settledAt?: string;
      settledBy?: string;
      reason?: string;
      report?: string;
      documentState?: 'open' | 'closed' | 'voided';
      reviewSince?: string;
      reviewReason?: string;
      contradiction?: string;
      removedAt?: string;
    };
  };
  listCommands: { commands: CommandRow[]; next?: string };
  totalCommands: { count: number; doneCount: number; doneSum: number; isCut: boolean };
  search: {
    results: { kind: 'command' | 'invoice' | 'device' | 'callback'; id: string; title: Said; at: string; amount?: number; shop?: string }[];
  };
  readSession: {
    user?: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
    confirmedUntil?: string;
    needsTotp?: boolean;
    isSandbox: boolean;
    version: string;
    basePath: string;
    banks: { code: string; name: string }[];
  };
  signIn: {
    user?: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
    needsCode?: boolean;
  };
  enterSandbox: {
    user: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
  };
  confirmSession: { confirmedUntil: string };
  listSessions: { sessions: { id: string; isThis: boolean; createdAt: string; expiresAt: string; address: string; agent: string }[] };
  endAllSessions: { ended: number };
  readLink: { purpose: 'invitation' | 'reset'; needsCode: boolean; email?: string; name?: string; expiresAt: string };
  useLink: {
    user?: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
    needsCode?: boolean;
  };
  sendTestCallback: {
    id: string;
    url: string;
    isDelivered: boolean;
    status: number;
    error: string;
    durationMs: number;
    responseHead: string;
  };
  readCommand: {
    command: CommandRow;
    holder?: { id: string; name: string };
    outcome: Said;
    advice: Said;
    hints?: Said[];
    marks: { key: string; state: 'good' | 'waiting' | 'bad' | 'neutral' }[];
    facts: Record<string, string | number>;
    receipt?: {
      number?: string;
      fiscalNumber?: string;
      commandId?: string;
      deviceName?: string;
      items: { name: string; quantity: number; price: number }[];
      total?: number;
    };
    timeline: Step[];
    unclear: { fromMs: number; toMs?: number }[];
    raw: { request?: unknown; report?: unknown; decision?: unknown; answer?: unknown };
    steps: NextStep[];
    related: {
      payment?: CommandRow;
      refunds: CommandRow[];
      closes: CommandRow[];
      voids: CommandRow[];
      linked: CommandRow[];
      others: CommandRow[];
      invoice?: { oid: string; state: number; amount?: number; at: string };
      callbacks: {
        id: string;
        sequence: number;
        url: string;
        state: 'pending' | 'delivered' | 'dead';
        attempts: number;
        createdAt: string;
        nextAttemptAt?: string;
      }[];
    };
  };
  refundCommand: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  voidCommand: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  closeCommand: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  askCommand: { state: string; isAnswered: boolean; isContradicted: boolean };
  listInvoices: {
    invoices: {
      oid: string;
      merchantId: string;
      merchantName: string;
      state: 'NewItem' | 'Scanned' | 'Payed' | 'Expired' | 'Cancelled';
      amount?: number;
      at: string;
      validTo?: string;
      scannedAt?: string;
      endedAt?: string;
      receiptId?: string;
      paidDeviceId?: string;
      paidDeviceName?: string;
      shop?: string;
    }[];
    next?: string;
  };
  readInvoice: {
    invoice: {
      oid: string;
      merchantId: string;
      merchantName: string;
      state: 'NewItem' | 'Scanned' | 'Payed' | 'Expired' | 'Cancelled';
      amount?: number;
      at: string;
      validTo?: string;
      scannedAt?: string;
      endedAt?: string;
      receiptId?: string;
      paidDeviceId?: string;
      paidDeviceName?: string;
      shop?: string;
      preferredDeviceId?: string;
      callbackUri?: string;
    };
    qr?: string;
    qrImage?: string;
    outcome: Said;
    advice: Said;
    hints?: Said[];
    marks: { key: string; state: 'good' | 'waiting' | 'bad' | 'neutral' }[];
    facts: Record<string, string | number>;
    receipt?: {
      number?: string;
      fiscalNumber?: string;
      commandId?: string;
      deviceName?: string;
      items: { name: string; quantity: number; price: number }[];
      total?: number;
    };
    timeline: Step[];
    unclear: { fromMs: number; toMs?: number }[];
    raw: { request?: unknown; report?: unknown; decision?: unknown; answer?: unknown };
    steps: NextStep[];
    related: {
      payments: CommandRow[];
      orphans: { receiptId: string; deviceId: string; reason: string; at: string }[];
      callbacks: {
        id: string;
        sequence: number;
        url: string;
        state: 'pending' | 'delivered' | 'dead';
        attempts: number;
        createdAt: string;
        nextAttemptAt?: string;
      }[];
    };
  };
  readAttention: {
    items: {
      kind:
        | 'unknown'
        | 'contradiction'
        | 'chargedTwice'
        | 'unmatched'
        | 'notClosed'
        | 'paydRefused'
        | 'paidByCard'
        | 'erpNotNotified'
        | 'receiptWithoutPayment'
        | 'paymentWithoutReceipt'
        | 'voidedAfterReceipt';
      subjectId: string;
      commandId?: string;
      oid?: string;
      callbackId?: string;
      merchantId: string;
      since: string;
      amount?: number;
      deviceId?: string;
      deviceName?: string;
      known: Said;
      unknown: Said;
      nextStep: {
        action: 'ask' | 'decide' | 'close' | 'note' | 'resend' | 'open';
        closesReview?: boolean;
        keepsSettlement?: boolean;
        contradiction?: string;
        asksNumbers?: boolean;
        consequence: Said;
      };
    }[];
    counts: {
      unknown: number;
      contradiction: number;
      chargedTwice: number;
      unmatched: number;
      notClosed: number;
      paydRefused: number;
      paidByCard: number;
      erpNotNotified: number;
      receiptWithoutPayment: number;
      paymentWithoutReceipt: number;
      voidedAfterReceipt: number;
    };
    sums: {
      unknown: number;
      contradiction: number;
      chargedTwice: number;
      unmatched: number;
      notClosed: number;
      paydRefused: number;
      paidByCard: number;
      erpNotNotified: number;
      receiptWithoutPayment: number;
      paymentWithoutReceipt: number;
      voidedAfterReceipt: number;
    };
    sales: { count: number; amount: number };
    isCut: boolean;
  };
  readOverview: {
    isNew: boolean;
    from: string;
    to: string;
    total: { amount: number; count: number; refunded: number };
    before: { amount: number; count: number; refunded: number };
    earlier: { amount: number; count: number };
    modes: { card: { amount: number; count: number }; qr: { amount: number; count: number }; cash: { amount: number; count: number } };
    hours: {
      at: string;
      card: number;
      qr: number;
      cash: number;
      before: number;
      tries: { paid: number; declined: number };
      triesBefore: { paid: number; declined: number };
    }[];
    banks: { bank?: string; paid: number; amount: number; success?: number; p95Ms?: number }[];
    success: { tries: number; paid: number; declined: number; unknown: number; rate?: number };
    answers: { p50Ms?: number; p95Ms?: number };
    ownShare: { p50Ms?: number; p95Ms?: number };
    histogram: { fromMs: number; count: number }[];
    devices: {
      id: string;
      name: string;
      kind: 'terminal' | 'register';
      bank?: string;
      shop?: string;
      liveOn: ('mqtt' | 'queue')[];
      lastSeenAt?: string;
    }[];
    callbacks: { delivered: number; waiting: number; dead: number; steps: { attempts: number; count: number }[]; nextAttemptAt?: string };
    attention: {
      counts: Record<string, number>;
      sums: Record<string, number>;
      sales: { count: number; amount: number };
      isCut: boolean;
      oldestSince?: string;
    };
    settledAlone: { recall: number; lateAnswer: number; lastTransaction: number; person: number; longestMs: number };
  };
  listShops: {
    shops: {
      merchantId: string;
      merchantName: string;
      code: string;
      devices: { id: string; name: string; kind: string; bank?: string }[];
      closes: { id: string; kind: 'bank' | 'z'; deviceId: string; at: string; number?: string }[];
    }[];
  };
  readDayClose: {
    merchantId: string;
    shop?: string;
    sources: {
      commandId: string;
      kind: 'bank' | 'z';
      deviceId: string;
      deviceName: string;
      number?: string;
      from?: string;
      to: string;
      operations: number;
    }[];
    canCompare: { bank: boolean; z: boolean };
    lines: {
      line: 'cardSales' | 'cardRefunds' | 'cardNet' | 'cashSales' | 'cashIn' | 'cashOut' | 'drawer';
      bank?: number;
      z?: number;
      ledger: number;
      difference?: number;
    }[];
    groups: {
      kind:
        | 'noReceipt'
        | 'otherRegister'
        | 'otherCode'
        | 'refundedBefore'
        | 'otherClose'
        | 'earlierDay'
        | 'byTerminal'
        | 'byRegister'
        | 'suspect';
      sum: number;
      effect: number;
      count: number;
      operations: CommandRow[];
    }[];
    equation?: { bank: number; z: number; rest: number };
    unexplained: { bank?: number; z?: number };
    operations: number;
    note?: { at: string; actor: string; reason: string };
  };
  askDeviceStatus: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  askLastTransaction: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  orderCloseDay: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  orderXReport: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  orderZReport: { OID: string; Repeated?: boolean; State?: OperationState; Remainder?: number };
  listInstances: {
    instances: {
      id: string;
      state: 'running' | 'lost';
      version: string;
      host: string;
      pid: number;
      embedded: string;
      startedAt: string;
      seenAt: string;
      clockOffsetMs?: number;
      status?: {
        http: number;
        devices: number;
        channels: Record<string, boolean>;
        database: { busy: number; idle: number; waiting: number };
        waitingCalls: number;
        commands: number;
        callbacks: number;
      };
    }[];
  };
  readDevelopers: {
    apiKey?: string;
    devices?: { id: string; kind: string; name: string }[];
    magicAmounts: { amount: string; fault: string; kind: string; meaning: string }[];
    errors: { code: number; name: string; httpStatus: number; meaning: string }[];
  };
  readPlayground: {
    devices: {
      id: string;
      kind: 'terminal' | 'register';
      name: string;
      bank?: string;
      isOn: boolean;
      byHand: boolean;
      channels: { via: 'mqtt' | 'queue'; isConnected: boolean; isCut: boolean }[];
      screen: {
        state:
          | 'idle'
          | 'presentCard'
          | 'enterPin'
          | 'asking'
          | 'approved'
          | 'declined'
          | 'refused'
          | 'busy'
          | 'printing'
          | 'outOfPaper'
          | 'off';
        text: string;
        amount?: number;
        commandId?: string;
        authCode?: string;
        maskedCard?: string;
      };
      waitsFor?: 'card' | 'pin';
      heldBy?: { commandId: string; documentState?: string; amount?: number };
      faults: { loseAnswer: boolean; answerTwice: boolean; paperOut: boolean; powerCut?: 'beforeBank' | 'afterBank' };
      paper?: { lines: string[]; at: string; kind: 'receipt' | 'slip' | 'X' | 'Z'; number?: string };
    }[];
    till: {
      sale: { items: { name: string; quantity: number; price: number; total: number }[]; total: number };
      lastSale?: {
        id: string;
        kind: 'card' | 'qr';
        state: 'waiting' | 'paying' | 'closing' | 'printing' | 'done' | 'refused' | 'unknown' | 'noReceipt';
        items: { name: string; quantity: number; price: number; total: number }[];
        total: number;
        paid: number;
        refunded: number;
        deviceId?: string;
        registerId: string;
        commandId?: string;
        oid?: string;
        receiptId?: string;
        errorCode?: number;
        message?: string;
      };
      invoice?: {
        oid: string;
        state: 'NewItem' | 'Scanned' | 'Payed' | 'Expired' | 'Cancelled';
        amount: number;
        qrText: string;
        qrImage: string;
        expiresAt?: string;
      };
    };
    calls: {
      id: number;
      at: string;
      label: string;
      method: string;
      path: string;
      headers: Record<string, string>;
      body?: Record<string, unknown>;
      curl: string;
      status?: number;
      answer?: Record<string, unknown>;
      tookMs?: number;
    }[];
    callbacks: {
      id: number;
      at: string;
      state: string;
      oid?: string;
      subject: 'invoice' | 'operation' | 'other';
      url: string;
      isVerified: boolean;
      answered: number;
      attempt: number;
      tookMs: number;
    }[];
    erp: { isDown: boolean };
    wire: {
      seq: number;
      at: string;
      deviceId: string;
      via: 'mqtt' | 'queue';
      direction: 'toDevice' | 'toGateway';
      what: string;
      commandId: string;
      fate: 'carried' | 'lost' | 'doubled';
    }[];
    books: {
      bank: { sum: number; count: number; last?: { amount: number; text: string; at: string }; refunds: { sum: number; count: number } };
      ledger: {
        sum: number;
        count: number;
        last?: { amount: number; text: string; at: string };
        refunds: { sum: number; count: number };
        unknown: number;
      };
      fiscal: { sum: number; count: number; last?: { amount: number; text: string; at: string } };
      erp: { sum: number; count: number; last?: { amount: number; text: string; at: string }; refunds: { sum: number; count: number } };
      agree: boolean;
      underWay: number;
      differences: Said[];
      since: string;
    };
    story?: {
      name: 'lostAnswer' | 'powerCut' | 'doubleClick' | 'deadErp' | 'expiredQr' | 'refundOverRest';
      number: number;
      of: number;
      runId: string;
      isRunning: boolean;
      isWaiting?: boolean;
      startedAt: string;
      steps: { key: string; state: 'waiting' | 'running' | 'done' | 'trouble'; atMs?: number; params?: Record<string, string | number> }[];
      verdict?: {
        key: string;
        params: Record<string, string | number>;
        erpHadToDo: Said;
        booksAgree?: boolean;
        saleCommandId?: string;
        oid?: string;
      };
    };
    stories: ('lostAnswer' | 'powerCut' | 'doubleClick' | 'deadErp' | 'expiredQr' | 'refundOverRest')[];
    stepByStep: boolean;
  };
  createMerchant: { id: string; name: string; callbackSecret: string };
  listMerchants: { merchants: { id: string; name: string; createdAt: string; sharePercent?: number }[] };
  createKey: { id: string; key: string; expiresAt: string };
  listKeys: {
    keys: {
      id: string;
      merchantId: string;
      name: string;
      modules: ('POS' | 'QR' | 'Fiscal')[];
      state: 'active' | 'expired' | 'revoked';
      createdAt: string;
      expiresAt?: string;
      revokedAt?: string;
      replacedBy?: string;
      lastUsedAt?: string;
    }[];
  };
  revokeKey: { revokedAt: string };
  rotateKey: { id: string; key: string; expiresAt: string; oldKeyEndsAt: string };
  listAudit: { audit: { id: number; at: string; actor: string; action: string; subject: string; detail: Record<string, unknown> }[] };
  registerDevice: { id: string; pairingCode: string; pairingExpiresAt: string };
  listDevices: {
    devices: {
      id: string;
      merchantId: string;
      kind: 'terminal' | 'register';
      name: string;
      bank?: string;
      pointOfSalesCode?: string;
      state: 'new' | 'paired' | 'disabled';
      hasJournal: boolean;
      liveOn: ('mqtt' | 'queue')[];
      channels: { name: 'mqtt' | 'queue'; isLive: boolean; since?: string }[];
      battery?: number;
      paper?: string;
      signal?: number;
      firmware?: string;
      clockOffsetMs?: number;
      lastCommand?: CommandRow;
      dropped: { reason: string; count: number; lastAt: string }[];
      waitingForOther?: number;
      releasedIfLost?: number;
      createdAt: string;
      lastSeenAt?: string;
      pairingExpiresAt?: string;
    }[];
    banks: { code: string; name: string }[];
  };
  declareHardwareLost: { released: number; isConnected: boolean; lastSeenAt?: string };
  replaceDeviceSecret: { secret: string };
  issuePairingCode: { pairingCode: string; pairingExpiresAt: string };
  listDeviceMessages: {
    dropped: { channel: 'mqtt' | 'queue'; reason: string; field?: string; why: string; count: number; firstAt: string; lastAt: string }[];
  };
  listUsers: {
    users: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    }[];
    next: string;
  };
  createUser: {
    user: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
    link: string;
    linkExpiresAt: string;
  };
  inviteFirstOperator: { link: string; linkExpiresAt: string };
  changeUser: {
    user: {
      id: string;
      email: string;
      name: string;
      role: 'operator' | 'merchant' | 'viewer';
      merchantId?: string;
      merchantName?: string;
      hasTotp: boolean;
      state: 'invited' | 'active' | 'disabled';
      createdAt: string;
    };
    link: string;
    linkExpiresAt: string;
  };
  renewUserLink: { link: string; linkExpiresAt: string };
  startTotp: { secret: string; uri: string };
  rotateSigningSecret: { secret: string; oldSecretEndsAt: string };
}

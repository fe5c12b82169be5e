// Stands for Carbon, ApplicationServices, and CoreFoundation, as far as app/system/quick_access.py calls them.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint32_t signature, id; } HotKeyID;
typedef struct { uint32_t class, kind; } EventType;
typedef int32_t (*Handler)(void *, void *, void *);
typedef struct { unsigned long type; char text[256]; } Object;

static int target, refuses, trusted, asked, alive, selection_type = 1;
static Handler handler;
static uint32_t code, modifiers, signature;
static const char *selected = "";

void *kAXTrustedCheckOptionPrompt = &asked, *kCFBooleanTrue = &trusted;
char kCFTypeDictionaryKeyCallBacks[8], kCFTypeDictionaryValueCallBacks[8];

static Object *make(unsigned long type, const char *text) {
  Object *made = calloc(1, sizeof(Object));
  made->type = type;
  strncpy(made->text, text, sizeof made->text - 1);
  alive++;
  return made;
}

// What tests set and read
void set_refuses(int value) { refuses = value; }
void set_trusted(int value) { trusted = value; }
void set_selected(const char *text, int type) { selected = strdup(text); selection_type = type; }
void press(void) { if (code && handler) handler(0, 0, 0); }
int registered(void) { return code == 49 && signature ? (int)modifiers : -1; }
int times_asked(void) { return asked; }
int objects(void) { return alive; }

void *GetApplicationEventTarget(void) { return &target; }
int32_t InstallEventHandler(void *at, Handler made, unsigned long count, const EventType *types, void *data, void **out) {
  if (at != &target || count != 1 || types->class != 0x6B657962 || types->kind != 5) return -50;
  handler = made;
  return 0;
}
int32_t RegisterEventHotKey(uint32_t key, uint32_t with, HotKeyID id, void *at, uint32_t options, void **out) {
  if (refuses || at != &target || id.id != 1) return -9878;
  code = key, modifiers = with, signature = id.signature;
  *out = &code;
  return 0;
}
int32_t UnregisterEventHotKey(void *made) {
  if (made != &code) return -50;
  code = 0;
  return 0;
}

unsigned char AXIsProcessTrusted(void) { return trusted; }
unsigned char AXIsProcessTrustedWithOptions(Object *options) {
  asked += options->type == 3;
  return trusted;
}
void *AXUIElementCreateSystemWide(void) { return make(2, "system"); }
int32_t AXUIElementSetMessagingTimeout(Object *element, float seconds) { return seconds == 0.5f ? 0 : -1; }
int32_t AXUIElementCopyAttributeValue(Object *element, Object *name, void **out) {
  if (!strcmp(name->text, "AXFocusedUIElement") && !strcmp(element->text, "system") && selection_type) {
    *out = make(2, "field");
    return 0;
  }
  if (!strcmp(name->text, "AXSelectedText") && !strcmp(element->text, "field")) {
    *out = make(selection_type, selected);
    return 0;
  }
  return -25212;
}

void CFRelease(Object *made) { alive--; free(made); }
unsigned long CFGetTypeID(Object *made) { return made->type; }
unsigned long CFStringGetTypeID(void) { return 1; }
Object *CFStringCreateWithCString(void *allocator, const char *text, uint32_t encoding) {
  return encoding == 0x08000100 ? make(1, text) : 0;
}
long CFStringGetLength(Object *string) { return strlen(string->text); }
long CFStringGetMaximumSizeForEncoding(long length, uint32_t encoding) { return 3 * length; }
unsigned char CFStringGetCString(Object *string, char *buffer, long size, uint32_t encoding) {
  strncpy(buffer, string->text, size);
  return 1;
}
Object *CFDictionaryCreate(void *allocator, void **keys, void **values, long count, void *k, void *v) {
  int right = count == 1 && keys[0] == &asked && values[0] == &trusted;
  return make(right && k == kCFTypeDictionaryKeyCallBacks && v == kCFTypeDictionaryValueCallBacks ? 3 : 0, "");
}

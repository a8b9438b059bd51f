/* Queues by their number. Numbers are never used again, so the table is in pages, and a page whose
 * queues are all gone is given back: who makes queues and deletes them all day needs no more memory
 * for it. */
#include "server/engine/state.h"

enum { PAGE = 256 };

struct number_page {
    uint32_t used;
    struct qn_queue *queues[PAGE];
};

void qn_numbers_put(struct qn_engine *engine, struct qn_queue *queue)
{
    struct number_table *table = &engine->by_number;
    uint32_t place = queue->number / PAGE;

    if (place >= table->page_count) {
        uint32_t count = table->page_count * 2 > place ? table->page_count * 2 : place + 1;
        table->pages = qn_memory_resize(table->pages, count, sizeof(struct number_page *));
        memset(&table->pages[table->page_count], 0,
               (count - table->page_count) * sizeof(struct number_page *));
        table->page_count = count;
    }
    if (table->pages[place] == NULL) {
        table->pages[place] = qn_memory_new(sizeof(struct number_page));
    }
    table->pages[place]->queues[queue->number % PAGE] = queue;
    table->pages[place]->used++;
}

void qn_numbers_drop(struct qn_engine *engine, const struct qn_queue *queue)
{
    struct number_page **page = &engine->by_number.pages[queue->number / PAGE];

    (*page)->queues[queue->number % PAGE] = NULL;
    (*page)->used--;
    if ((*page)->used == 0) {
        qn_memory_free(*page);
        *page = NULL;
    }
}

struct qn_queue *qn_queue_by_number(const struct qn_engine *engine, uint32_t number)
{
    const struct number_table *table = &engine->by_number;
    const struct number_page *page =
        number / PAGE < table->page_count ? table->pages[number / PAGE] : NULL;

    return page != NULL ? page->queues[number % PAGE] : NULL;
}

void qn_numbers_done(struct qn_engine *engine)
{
    for (uint32_t i = 0; i < engine->by_number.page_count; i++) {
        qn_memory_free(engine->by_number.pages[i]);
    }
    qn_memory_free(engine->by_number.pages);
}

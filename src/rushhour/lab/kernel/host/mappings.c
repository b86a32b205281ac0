/*
 * A new process has the shared pages of the one that it comes from.
 *
 * From 6.11 on User-Mode Linux sets several entries of a page table in one go (set_ptes() in arch/um/include/asm/pgtable.h), and
 * goes on by as many pages as are left instead of by one: `nr << PFN_PTE_SHIFT`, after `--nr`. Of three pages and more that lie
 * in one piece of memory a child saw others than its parent, and the kernel counted those wrongly when the child ended or
 * executed a program ("Bad page map"). Such pieces are mapped where a driver gives its own memory away: the rings of packet
 * sockets and of io_uring. What is counted at a fork is right; so each entry of a shared mapping gets its page from the parent's.
 */
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096UL
/* <linux/mm.h>. Of a private mapping a child may have a copy of a page, which is another one. */
#define VM_SHARED 0x8UL
/* arch/um/include/asm/pgtable.h; the page lies in the bits from PAGE on. */
#define PRESENT 0x1UL

/* The beginning of struct vm_area_struct as it is from 6.11 to 7.2 (include/linux/mm_types.h). */
struct area {
	uintptr_t start, end;
	void *memory;
	unsigned long protection, flags;
};

/* It came with the fault (bcf3d957c63d, "um: refactor TLB update handling"); older kernels have another `struct area`, too. */
__attribute__((weak)) int um_tlb_sync(void *memory);
unsigned long *virt_to_pte(void *memory, unsigned long address);
int __real_copy_page_range(struct area *to, struct area *from);
int __wrap_copy_page_range(struct area *to, struct area *from);

int __wrap_copy_page_range(struct area *to, struct area *from)
{
	int fault = __real_copy_page_range(to, from);

	if (fault || !um_tlb_sync || !(from->flags & VM_SHARED))
		return fault;
	for (uintptr_t address = from->start; address < from->end; address += PAGE) {
		unsigned long *entry = virt_to_pte(to->memory, address), *model = virt_to_pte(from->memory, address);

		if (entry && model && (*entry & PRESENT) && (*model & PRESENT))
			*entry = (*model & -PAGE) | (*entry & (PAGE - 1));
	}
	return fault;
}
